// How long to wait before the next try: soon at first, never longer than a person would wait, and not all at once.
const FIRST_MS = 250;
const LONGEST_MS = 10_000;

export function pauseBefore(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
  return full / 2 + (full / 2) * random();
}
