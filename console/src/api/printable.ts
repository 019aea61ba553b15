// Text of hosts, before a page shows it or somebody copies it into a terminal. The platform cleans it when it comes in;
// this is for what an older platform stored.

// A pair of backslashes, the escape of a character, or the character itself as it may stand in JSON.
const SUSPECT =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\\\\|\\u[0-9a-fA-F]{4}|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const TURNS = new Set([0x61c, 0x200e, 0x200f, 0xfeff]);

function harmful(code: number): boolean {
  if (code === 0x09 || code === 0x0a) return false;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f) || TURNS.has(code)) return true;
  return (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/** JSON as text, with every control character and every mark that turns the direction of text replaced in its strings. */
export function printableJson(json: string): string {
  return json.replace(SUSPECT, (found) => {
    if (found === "\\\\") return found;
    if (found.startsWith("\\u")) return harmful(Number.parseInt(found.slice(2), 16)) ? "\ufffd" : found;
    return found === "\r" ? found : "\ufffd"; // between values; within one it is written as an escape
  });
}
