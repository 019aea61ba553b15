import classes from "./PhaseChart.module.css";
import { type Tone, toneOf } from "./states";
import { duration, exactTime, secondsBetween } from "./time";
import { useNow } from "./useNow";

export interface Span {
  key: string;
  name: string;
  from: string;
  /** Null: it has not ended. */
  to: string | null | undefined;
  status: string;
  detail?: string | null | undefined;
  /** The state while it runs. Default: in progress. */
  tone?: Tone;
}

/** When each phase began, how long it took, and which one took the time. */
export function PhaseChart({ spans, label }: { spans: Span[]; label: string }) {
  const now = useNow();
  if (spans.length === 0) return null;
  const start = Math.min(...spans.map((span) => Date.parse(span.from)));
  const end = Math.max(start + 1, ...spans.map((span) => (span.to ? Date.parse(span.to) : now)));
  const total = end - start;
  return (
    <figure className={classes.chart} aria-label={label}>
      <ol className={classes.spans}>
        {spans.map((span) => {
          const left = ((Date.parse(span.from) - start) / total) * 100;
          const width = ((secondsBetween(span.from, span.to, now) * 1000) / total) * 100;
          const seconds = secondsBetween(span.from, span.to, now);
          return (
            <li key={span.key} className={classes.span}>
              <span className={classes.name} title={span.detail ? `${span.name}: ${span.detail}` : span.name}>
                {span.name}
              </span>
              <span className={classes.track} aria-hidden="true">
                <span
                  className={classes.bar}
                  data-tone={span.to ? toneOf(span.status) : (span.tone ?? "busy")}
                  data-open={!span.to || undefined}
                  title={`${span.name}: ${exactTime(span.from)}, ${duration(seconds)}`}
                  style={{ left: `${left}%`, width: `max(3px, ${Math.min(width, 100 - left)}%)` }}
                />
              </span>
              <span className={classes.time}>
                {duration(seconds)}
                {!span.to && <span className="visually-hidden"> so far</span>}
              </span>
            </li>
          );
        })}
      </ol>
      <figcaption className={classes.scale}>
        <span>{exactTime(new Date(start).toISOString())}</span>
        <span>{duration(total / 1000)} in all</span>
      </figcaption>
    </figure>
  );
}
