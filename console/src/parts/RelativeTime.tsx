import { exactTime, relativeTime } from "./time";
import { useNow } from "./useNow";

/** An age that stays true; the exact time is in its title. */
export function RelativeTime({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span className="dim">–</span>;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at, now)}
    </time>
  );
}
