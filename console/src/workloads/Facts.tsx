import { shapeWords } from "../allocations/shape";
import type { Instance } from "../api/types";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Panel } from "../parts/Panel";
import { Correlation } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import { labelOf } from "../parts/states";
import classes from "./Facts.module.css";

/** Versions kept apart: the app's, the one that runs, and the one that the manifest declares, if that is another. */
export function Facts({ instance }: { instance: Instance }) {
  const {
    previous_version: previous,
    attempted_version: attempted,
    declared_runtime_version: declared,
  } = instance;
  const profiles = instance.runtime_profile ?? instance.component_profiles;
  return (
    <Panel title="Details">
      <KeyValues
        items={[
          ["App version", instance.version],
          ["Runtime version", instance.runtime_version],
          declared !== instance.runtime_version && ["Declared runtime version", declared],
          [
            "Capacity shape",
            instance.bound_capacity_shape && labelOf(shapeWords(instance.bound_capacity_shape)),
          ],
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
          ["Reconcile policy", labelOf(instance.reconcile_policy)],
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
      {Object.keys(profiles).length > 0 && (
        <details className={classes.inputs}>
          <summary>Runtime profile</summary>
          <pre>{JSON.stringify(profiles, null, 2)}</pre>
        </details>
      )}
    </Panel>
  );
}
