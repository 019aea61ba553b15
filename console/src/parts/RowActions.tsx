import type { ReactNode } from "react";
import classes from "./RowActions.module.css";

/** Buttons side by side, below each other where there is no room. */
export function RowActions({ children }: { children: ReactNode }) {
  return <span className={classes.actions}>{children}</span>;
}

/** A name that opens more of the same page, and so is a button that looks like a link. */
export function OpenButton({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" className={classes.open} onClick={onClick}>
      {children}
    </button>
  );
}
