import { Link } from "@tanstack/react-router";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import classes from "./NotFound.module.css";

export function NotFound() {
  return (
    <main className={classes.page}>
      <PageHead title="No such page" />
      <Empty
        icon="search"
        title="This address leads nowhere"
        text="It may be old, or have lost a letter on its way."
      >
        <Link to="/">To the overview</Link>
      </Empty>
    </main>
  );
}
