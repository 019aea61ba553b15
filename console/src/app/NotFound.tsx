import { Link } from "@tanstack/react-router";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import classes from "./NotFound.module.css";

export function NotFound() {
  return (
    <main className={classes.page}>
      <PageHead title="No such page" />
      <Empty icon="search" title="There is no page at this address" text="The link may be old or incomplete.">
        <Link to="/">Go to the overview</Link>
      </Empty>
    </main>
  );
}
