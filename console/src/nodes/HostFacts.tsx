import { ActionButton } from "../actions/ActionButton";
import type { Node } from "../api/types";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { Snippet } from "../parts/Snippet";
import { drivesSpec, labelsSpec } from "./actions";

/** What a wipe of the whole host can prove, and what it leaves out. */
function wipeOf(node: Node): string {
  const parts = [`up to ${node.wipe_grades.at(-1) ?? "inspected"}`];
  if (!node.erase_drives) parts.push("drives are not erased");
  if (node.claim_differs)
    parts.push("the agent reports a configuration or program that differs from the record");
  return parts.join("; ");
}

export function HostFacts({ node }: { node: Node }) {
  return (
    <Panel
      title="Host"
      aside={
        node.allowed_actions.includes("node_update") && (
          <>
            <ActionButton spec={drivesSpec(node)} resource={node} name={node.name} size="compact-xs" />
            <ActionButton spec={labelsSpec(node)} resource={node} name={node.name} size="compact-xs" />
          </>
        )
      }
    >
      <div className="stack">
        <KeyValues
          items={[
            ["Hostname", node.hostname],
            ["Address", node.address],
            ["Agent", node.agent_version],
            ["Seen", <RelativeTime key="seen" at={node.last_seen_at} />],
            node.lost_since !== null && ["Silent", <RelativeTime key="lost" at={node.lost_since} />],
            ["Enrolled", <RelativeTime key="enrolled" at={node.created_at} />],
            ["Wipe", wipeOf(node)],
            ["Boot ID", node.boot_id && <Mono key="boot" text={node.boot_id} />],
            ["ID", <Mono key="id" text={node.id} copy="Copy ID" />],
            ...Object.entries(node.labels).map(([key, value]) => [`Label ${key}`, value] as [string, string]),
          ]}
        />
        {Object.keys(node.inventory).length > 0 && (
          <Snippet label="Inventory" text={JSON.stringify(node.inventory, null, 2)} wrap />
        )}
      </div>
    </Panel>
  );
}
