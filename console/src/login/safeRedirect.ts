/** Only to places in the console: an address from outside must not send a fresh session elsewhere. */
export function safeRedirect(to: string | undefined): string {
  return to?.startsWith("/") && !to.startsWith("//") && !to.includes("\\") && !to.startsWith("/login")
    ? to
    : "/";
}
