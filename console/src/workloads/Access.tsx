import type { Instance } from "../api/types";
import { CopyButton } from "../parts/CopyButton";
import { Empty } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { labelOf } from "../parts/states";
import classes from "./Access.module.css";
import { accessLines } from "./accessLines";

/** How people get in: exact commands, paths and addresses, as the app's controller reports them. */
export function Access({ instance }: { instance: Instance }) {
  const lines = accessLines(instance.access_bundle ?? {});
  return (
    <Panel title="Access">
      {lines.length === 0 ? (
        <Empty icon="key" title="No access yet" text="The app reports how to use it when it runs." />
      ) : (
        <dl className={classes.lines}>
          {lines.map(([name, text]) => (
            <div key={name} className={classes.line}>
              <dt>{labelOf(name)}</dt>
              <dd>
                <code className={classes.text}>{text}</code>
                <CopyButton text={text} label={`Copy ${name}`} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  );
}
