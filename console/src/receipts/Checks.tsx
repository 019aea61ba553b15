import type { Receipt } from "../api/types";
import { StateBadge } from "../parts/StateBadge";
import classes from "./Receipts.module.css";

/** Each look at the host: how much was examined, and what was found. */
export function Checks({ checks }: { checks: Receipt["checks"] }) {
  return (
    <ul className={classes.checks}>
      {checks.map((check) => (
        <li key={check.name} className={classes.check}>
          <span className={classes.checkName}>{check.name}</span>
          <StateBadge state={check.verdict} />
          <span className={classes.found}>
            {check.problem || `${check.examined} examined`}
            {check.found
              .filter((one) => !one.known)
              .map((one) => (
                <code key={one.item} className={classes.item} title={one.why}>
                  {one.item}
                </code>
              ))}
          </span>
        </li>
      ))}
    </ul>
  );
}
