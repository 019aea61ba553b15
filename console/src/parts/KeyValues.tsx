import type { ReactNode } from "react";
import { CopyButton } from "./CopyButton";
import classes from "./KeyValues.module.css";

export type Pair = [label: string, value: ReactNode] | false | null | undefined;

/** Facts about one thing, as a description list. What is empty says so. */
export function KeyValues({ items }: { items: Pair[] }) {
  return (
    <dl className={classes.list}>
      {items.map(
        (item) =>
          item && (
            <div key={item[0]} className={classes.pair}>
              <dt>{item[0]}</dt>
              <dd>{item[1] ?? <span className="dim">–</span>}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** An id or a digest, in full for machines and short for eyes. */
export function Mono({ text, copy }: { text: string; copy?: string }) {
  return (
    <span className={classes.mono}>
      <code title={text}>{text}</code>
      {copy && <CopyButton text={text} label={copy} />}
    </span>
  );
}
