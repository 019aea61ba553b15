import type { ReactNode } from "react";
import { useId } from "react";
import classes from "./Panel.module.css";

/** A part of a page with a heading; `flush` for tables, which bring their own spacing. */
export function Panel(props: { title: string; aside?: ReactNode; flush?: boolean; children: ReactNode }) {
  const id = useId();
  return (
    <section className={classes.panel} aria-labelledby={id}>
      <header className={classes.head}>
        <h2 id={id}>{props.title}</h2>
        {props.aside && <div className={classes.aside}>{props.aside}</div>}
      </header>
      <div className={props.flush ? classes.flush : classes.body}>{props.children}</div>
    </section>
  );
}
