import { PageLink } from "../parts/PageLink";
import classes from "./LaunchBlocked.module.css";
import type { LaunchBlock } from "./launchBlocks";

/** Stands where the button to launch would be: why it is not there, and who can change that. */
export function LaunchBlocked({ block }: { block: LaunchBlock }) {
  return (
    <div className={classes.blocked} role="status" data-blocked>
      <strong>{block.reason}</strong>
      <span>{block.remedy}</span>
      {block.link && <PageLink to={block.link.to}>{block.link.text}</PageLink>}
    </div>
  );
}
