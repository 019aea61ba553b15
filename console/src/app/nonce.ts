/** Of this page's Content-Security-Policy: style elements made by scripts carry it. */
export function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
}
