/** An access bundle is the app's own document: its texts, each with the names that lead to it. */
export function accessLines(document: unknown, name = ""): [name: string, text: string][] {
  if (document === null || document === undefined || document === "") return [];
  if (Array.isArray(document)) {
    return document.flatMap((one, index) =>
      accessLines(one, document.length > 1 ? `${name} ${index + 1}`.trim() : name),
    );
  }
  if (typeof document === "object") {
    return Object.entries(document).flatMap(([key, one]) =>
      accessLines(one, name ? `${name} · ${key}` : key),
    );
  }
  return [[name, String(document)]];
}
