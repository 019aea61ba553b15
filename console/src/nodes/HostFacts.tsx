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

interface ReportedHost {
  cpus?: number;
  memory_mib?: number;
  kernel?: string;
  numa_nodes?: unknown[];
}

/** What the agent found in the host, where it said so. */
function hardwareOf(node: Node): [string, string][] {
  const host = (node.inventory.host ?? {}) as ReportedHost;
  const facts: [string, string | undefined][] = [
    ["CPUs", host.cpus && `${host.cpus}${host.numa_nodes ? `, ${host.numa_nodes.length} NUMA nodes` : ""}`],
    ["Memory", host.memory_mib && `${Math.round(host.memory_mib / 1024).toLocaleString("en")} GiB`],
    ["Kernel", host.kernel],
  ].map(([name, value]) => [String(name), value ? String(value) : undefined]);
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
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
            ...hardwareOf(node),
            ["Boot ID", node.boot_id && <Mono key="boot" text={node.boot_id} />],
            ["ID", <Mono key="id" text={node.id} copy="Copy ID" />],
            ...Object.entries(node.labels).map(([key, value]) => [`Label ${key}`, value] as [string, string]),
          ]}
        />
        {Object.keys(node.inventory).length > 0 && (
          <details>
            <summary>Everything that the agent reported</summary>
            <Snippet label="Inventory" text={JSON.stringify(node.inventory, null, 2)} wrap />
          </details>
        )}
      </div>
    </Panel>
  );
}
