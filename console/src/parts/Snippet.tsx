import { CopyButton } from "./CopyButton";
import classes from "./Snippet.module.css";

/** Commands, keys and the like: to be copied as they are. */
export function Snippet({ text, label, wrap }: { text: string; label: string; wrap?: boolean }) {
  return (
    <div className={classes.box}>
      <section
        className={wrap ? `${classes.text} ${classes.wrap}` : classes.text}
        // What scrolls must be reachable with the keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        aria-label={label}
      >
        <code>{text}</code>
      </section>
      <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
    </div>
  );
}
