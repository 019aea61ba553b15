import { useParams } from "@tanstack/react-router";
import { ActionBar } from "../actions/ActionBar";
import { keys } from "../api/keys";
import type { Node } from "../api/types";
import { useRefetch } from "../live/useRefetch";
import { Empty, Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { StateBadge } from "../parts/StateBadge";
import { exactTime } from "../parts/time";
import { wholeListing } from "../parts/wholeListing";
import { NODE_ACTIONS } from "./actions";
import { HostFacts } from "./HostFacts";
import { HostReports } from "./HostReports";
import { HostTasks } from "./HostTasks";
import { MaintenanceWindows } from "./MaintenanceWindows";
import { NodeAllocations } from "./NodeAllocations";
import { NodeSlots } from "./NodeSlots";
import { PLATFORM, useNode, useSlots } from "./queries";
import { SlotMap } from "./SlotMap";
import { schedulingStateOf } from "./schedulingState";

export function NodePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useNode(id);
  return (
    <>
      {!query.data && <PageHead title="Node" />}
      <Loaded query={query}>{(node) => <Shown node={node} />}</Loaded>
    </>
  );
}

function Shown({ node }: { node: Node }) {
  const slots = useSlots(node.id);
  // What happens to an allocation changes the slots of its node, without an event about the node.
  useRefetch(keys.one("nodes", PLATFORM, node.id), /^allocation\./, 1000);
  return (
    <>
      <PageHead
        above={<PageLink to="/ops/nodes">Nodes</PageLink>}
        title={node.name}
        badges={
          <>
            <StateBadge state={node.status} />
            <StateBadge state={schedulingStateOf(node)} />
          </>
        }
        lead={leadOf(node)}
        actions={
          <ActionBar resource={node} name={node.name} allowed={node.allowed_actions} table={NODE_ACTIONS} />
        }
      />
      <div className="stack">
        <Panel title="GPUs by NUMA node and NVLink">
          <Loaded query={slots}>
            {(found) =>
              found.length === 0 ? (
                <Empty icon="cpu" title="The host has reported no GPUs yet" />
              ) : (
                <SlotMap slots={found} />
              )
            }
          </Loaded>
        </Panel>
        <MaintenanceWindows node={node.id} />
        <HostReports node={node.id} />
        <NodeSlots slots={wholeListing(slots)} />
        <div className="columns">
          <HostFacts node={node} />
          <NodeAllocations node={node.id} />
        </div>
        <HostTasks node={node.id} />
      </div>
    </>
  );
}

/** Why the node takes no allocations and when its drain begins; else its own name for itself. */
function leadOf(node: Node): string {
  if (!node.maintenance) return node.hostname;
  const begins = node.drain_at ? `The drain begins at ${exactTime(node.drain_at)}. ` : "";
  return `${begins}${node.maintenance.reason} (by ${node.maintenance.by})`;
}
