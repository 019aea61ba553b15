import { useEffect, useRef } from "react";
import type { LogLine } from "../api/types";
import classes from "./LogView.module.css";
import { clockOf, type Entry, gapText, isGap, keyOf } from "./lines";

const TONES: Record<string, string> = {
  emergency: "bad",
  alert: "bad",
  critical: "bad",
  error: "bad",
  warning: "warn",
  debug: "dim",
};
/** So close to the end, the view stays at the end when lines come. */
const NEAR_END = 40;

interface Props {
  entries: Entry[];
  /** Whose log it is. */
  label: string;
  follow: boolean;
  empty: string;
  /** Given where the lines are of several members. */
  nameOf?: ((member: string) => string) | undefined;
}

/** Lines in a box that scrolls, and stays at its end while somebody reads there. */
export function LogLines({ entries, label, follow, empty, nameOf }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the box grows with the entries
  useEffect(() => {
    const element = box.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [entries]);
  const scrolled = () => {
    const element = box.current;
    if (element) atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
  };
  return (
    <div
      ref={box}
      className={classes.lines}
      role="log"
      aria-live={follow ? "polite" : "off"}
      aria-label={`Log of ${label}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={scrolled}
    >
      {entries.length === 0 && <p className={classes.empty}>{empty}</p>}
      {entries.map((entry) =>
        isGap(entry) ? (
          <div key={keyOf(entry)} className={classes.gap}>
            {nameOf && `${nameOf(entry.member_id)} `}
            {gapText(entry.leftOut)}
          </div>
        ) : (
          <Line key={keyOf(entry)} line={entry} name={nameOf?.(entry.member_id)} />
        ),
      )}
    </div>
  );
}

export function Line({ line, name }: { line: LogLine; name?: string | undefined }) {
  const tone = TONES[line.level ?? ""];
  return (
    <div className={classes.line} data-tone={tone} data-named={name !== undefined || undefined}>
      <time className={classes.time} dateTime={line.at} title={line.at}>
        {clockOf(line.at)}
      </time>
      {name !== undefined && (
        <span className={classes.member} title={name}>
          {name}
        </span>
      )}
      <span className={classes.source} title={line.source}>
        {line.source.replace(/\.service$/, "")}
      </span>
      <span className={classes.text}>
        {line.text}
        {line.cut && " …"}
      </span>
    </div>
  );
}
