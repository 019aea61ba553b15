import type { Instance } from "../api/types";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Panel } from "../parts/Panel";
import { Correlation } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import classes from "./Facts.module.css";

/** Versions kept apart: the app's, the runtime's own, and what the controller says that it found. */
export function Facts({ instance }: { instance: Instance }) {
  const reported = instance.runtime?.version;
  const { previous_version: previous, attempted_version: attempted } = instance;
  return (
    <Panel title="Details">
      <KeyValues
        items={[
          ["App version", instance.version],
          ["Runtime version", instance.runtime_version],
          ["Reported runtime version", typeof reported === "string" ? reported : null],
          attempted && ["Attempted version", attempted.version],
          previous && ["Previous version", previous.version],
          ["Artifact", instance.digest && <Mono text={instance.digest} copy="Copy digest" />],
          ["ID", <Mono key="id" text={instance.id} copy="Copy ID" />],
          ["Created", <RelativeTime key="c" at={instance.created_at} />],
          ["First deployed", <RelativeTime key="d" at={instance.deployed_at} />],
          instance.decommissioned_at !== null && [
            "Decommissioned",
            <RelativeTime key="g" at={instance.decommissioned_at} />,
          ],
          ["Reconcile policy", instance.reconcile_policy],
          ["Health last reported", <RelativeTime key="h" at={instance.health_reported_at} />],
          ["Correlation", <Correlation key="x" id={instance.correlation_id} />],
        ]}
      />
      {Object.keys(instance.inputs).length > 0 && (
        <details className={classes.inputs}>
          <summary>Inputs</summary>
          <pre>{JSON.stringify(instance.inputs, null, 2)}</pre>
        </details>
      )}
    </Panel>
  );
}
