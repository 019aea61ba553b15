/** Controllers name steps for programs too: "install-packages". */
export function stepName(name: string): string {
  return name.replaceAll(/[-_]/g, " ");
}
