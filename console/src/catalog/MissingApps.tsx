// Apps of the platform that are still being prepared or cannot be provided, with the reason and who can change it.
import { Panel } from "../parts/Panel";
import classes from "./MissingApps.module.css";
import { useMissingApps } from "./queries";

export function MissingApps({ project_id }: { project_id: string }) {
  const missing = useMissingApps(project_id);
  if (!missing.data?.length) {
    return null;
  }
  return (
    <div className={classes.missing}>
      <Panel title="Not in the catalog yet">
        <ul>
          {missing.data.map((app) => (
            <li key={app.name}>
              {app.message} {app.next_step}
              {app.detail && <p className="dim">{app.detail}</p>}
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}
