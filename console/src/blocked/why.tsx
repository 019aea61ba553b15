import type { Column } from "../parts/ResourceTable";
import classes from "./why.module.css";

interface Failure {
  message: string;
  next_step: string;
  code: string;
}

function Why({ failure }: { failure: Failure | null }) {
  if (!failure) return <span className="dim">–</span>;
  return (
    <span className={classes.why}>
      <span>{failure.message}</span>
      <span className="dim">{failure.next_step}</span>
      <code>{failure.code}</code>
    </span>
  );
}

/** What went wrong, what to do about it, and the code to look it up by. */
export function whyColumn<T extends { failure: Failure | null }>(): Column<T> {
  return {
    key: "why",
    header: "Why",
    width: "minmax(14rem, 3fr)",
    cell: (one) => <Why failure={one.failure} />,
    value: (one) => one.failure?.message ?? null,
  };
}
