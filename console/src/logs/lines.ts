// The lines on the screen: a bounded list, what a search leaves of it, and the text to copy or keep. Pure.
import type { LogLine } from "../api/types";

/** More than a person reads; older lines go. */
export const MOST_LINES = 5000;

/** Lines of a member that did not get here. */
export interface Gap {
  key: string;
  at: string;
  member_id: string;
  leftOut: number;
}

export type Entry = LogLine | Gap;

export function isGap(entry: Entry): entry is Gap {
  return "leftOut" in entry;
}

/** Journals of two hosts may count alike. */
export function keyOf(entry: Entry): string {
  return isGap(entry) ? entry.key : `${entry.member_id} ${entry.cursor}`;
}

/** Adds what arrived; a line that is there already, as after a broken connection, is not shown twice. */
export function append(shown: Entry[], arrived: Entry[]): Entry[] {
  const known = new Set(shown.slice(-MOST_LINES).map(keyOf));
  const fresh = arrived.filter((entry) => !known.has(keyOf(entry)));
  return fresh.length === 0 ? shown : [...shown, ...fresh].slice(-MOST_LINES);
}

export function prepend(shown: Entry[], older: Entry[]): Entry[] {
  const known = new Set(shown.map(keyOf));
  return [...older.filter((entry) => !known.has(keyOf(entry))), ...shown];
}

/** Lines of several hosts by the time of their clocks. Lines of one host are in order already, also when its clock is set. */
export function byTime(entries: Entry[]): Entry[] {
  const times = new Map(entries.map((entry) => [entry, Date.parse(entry.at)]));
  return entries.toSorted((one, other) => (times.get(one) ?? 0) - (times.get(other) ?? 0));
}

/** The lines that contain every word of the search, in text or unit. Gaps stay: they are missing in any case. */
export function matching(entries: Entry[], search: string): Entry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  return entries.filter((entry) => {
    if (isGap(entry)) return true;
    const text = `${entry.source} ${entry.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function clockOf(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? at : time.toISOString().slice(11, 23);
}

export function gapText(leftOut: number): string {
  return `… ${leftOut.toLocaleString("en")} lines left out`;
}

/** `nameOf` is given where the lines are of several members. */
export function asText(entries: Entry[], nameOf?: (member: string) => string): string {
  return entries
    .map((entry) => {
      const name = nameOf ? [nameOf(entry.member_id)] : [];
      if (isGap(entry)) return [...name, gapText(entry.leftOut)].join(" ");
      return [entry.at, ...name, entry.source, `${entry.text}${entry.cut ? " …" : ""}`].join(" ");
    })
    .join("\n");
}
