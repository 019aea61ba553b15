import classes from "./StateBadge.module.css";
import { labelOf, type Tone, toneOf } from "./states";

/** A state as a dot and a word: the colour never says anything that the word does not. */
export function StateBadge({ state, tone }: { state: string; tone?: Tone }) {
  return (
    <span className={classes.badge} data-tone={tone ?? toneOf(state)} data-state={state}>
      <span className={classes.dot} aria-hidden="true" />
      {labelOf(state)}
    </span>
  );
}
