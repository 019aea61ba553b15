const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** 1536 → "1.5 KiB". */
export function size(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const shown = bytes / 1024 ** step;
  return `${shown >= 100 || step === 0 ? Math.round(shown) : shown.toFixed(1)} ${UNITS[step]}`;
}
