// Times and durations for people.
type Unit = [limit: number, seconds: number, unit: Intl.RelativeTimeFormatUnit];

const UNITS: Unit[] = [
  [60, 1, "second"],
  [3600, 60, "minute"],
  [86_400, 3600, "hour"],
  [86_400 * 30, 86_400, "day"],
  [86_400 * 365, 86_400 * 30, "month"],
];
const YEARS: Unit = [Number.POSITIVE_INFINITY, 86_400 * 365, "year"];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });

export function relativeTime(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 2) return "now";
  const [, length, unit] = UNITS.find(([limit]) => size < limit) ?? YEARS;
  return relative.format(Math.trunc(seconds / length), unit);
}

/** 0.4 s, 12 s, 3 min 5 s, 2 h 10 min, 4 d 3 h. */
export function duration(seconds: number): string {
  if (seconds < 0.95) return `${Math.max(0, seconds).toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return pair(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400) return pair(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return pair(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3600), "h");
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`;
}

export function secondsBetween(from: string, to: string | null | undefined, now: number): number {
  return ((to ? Date.parse(to) : now) - Date.parse(from)) / 1000;
}

const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export function exactTime(at: string): string {
  return exact.format(new Date(at));
}
