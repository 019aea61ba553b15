import { useParams } from "@tanstack/react-router";
import { ActionBar } from "../actions/ActionBar";
import type { Allocation } from "../api/types";
import { useProject } from "../app/project";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { Correlation, ProblemPanel } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import { TerminalPanel } from "../terminal/TerminalPanel";
import { ALLOCATION_ACTIONS, nameOf } from "./actions";
import { HealthNotices } from "./HealthNotices";
import { useAllocation } from "./queries";
import { ReceiptsHere, RunsHere } from "./RunsHere";
import { SshAccess } from "./SshAccess";
import { shapeWords } from "./shape";
import { Timeline } from "./Timeline";
import { Topology } from "./Topology";
import { WipeProof } from "./WipeProof";

export function AllocationPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const project = useProject();
  const query = useAllocation(project.id, id);
  return (
    <>
      {!query.data && <PageHead title="Allocation" />}
      <Loaded query={query}>{(allocation) => <Shown allocation={allocation} />}</Loaded>
    </>
  );
}

function Shown({ allocation }: { allocation: Allocation }) {
  const name = nameOf(allocation);
  return (
    <>
      <PageHead
        above={<PageLink to="/allocations">Allocations</PageLink>}
        title={name}
        badges={
          <>
            <StateBadge state={allocation.state} />
            {allocation.health && allocation.state === "active" && <StateBadge state={allocation.health} />}
          </>
        }
        lead={`${allocation.gpu_count} × ${allocation.gpu_model}, ${shapeWords(allocation.shape)}, ${allocation.sku_name}`}
        actions={
          <ActionBar
            resource={allocation}
            name={name}
            allowed={allocation.allowed_actions}
            table={ALLOCATION_ACTIONS}
          />
        }
      />
      <div className="stack">
        {allocation.failure && (
          <ProblemPanel
            title={failureTitle(allocation)}
            tone={allocation.failure.code === "host_lost" ? "warn" : "bad"}
            problem={{ ...allocation.failure, correlation_id: allocation.correlation_id }}
          />
        )}
        <HealthNotices allocation={allocation} />
        <Facts allocation={allocation} />
        <div className="columns">
          <Topology project={allocation.project_id} allocation={allocation.id} />
          <RunsHere allocation={allocation} />
        </div>
        <TerminalPanel allocation={allocation} />
        <div className="columns">
          <Timeline project={allocation.project_id} allocation={allocation.id} />
          <SshAccess allocation={allocation} />
        </div>
        <WipeProof project={allocation.project_id} allocation={allocation.id} />
        <ReceiptsHere allocation={allocation} />
      </div>
    </>
  );
}

function failureTitle(allocation: Allocation): string {
  if (allocation.failure?.code === "host_lost") return "Released; the wipe waits for the host";
  if (allocation.state === "active") return "The host has not taken the last change of access";
  return allocation.state === "release_failed" ? "The release did not end" : "It could not be used";
}

function Facts({ allocation }: { allocation: Allocation }) {
  return (
    <Panel title="State">
      <KeyValues
        items={[
          ["State", <StateBadge key="state" state={allocation.state} />],
          ["Since", <RelativeTime key="since" at={allocation.state_since} />],
          allocation.health !== null && ["Health", <StateBadge key="health" state={allocation.health} />],
          allocation.phase !== null && ["On the host now", allocation.phase],
          allocation.deadline_at !== null && [
            "Counts as failed",
            <RelativeTime key="deadline" at={allocation.deadline_at} />,
          ],
          allocation.release_by !== null && [
            "Waits for apps until",
            <RelativeTime key="by" at={allocation.release_by} />,
          ],
          ["Active", <RelativeTime key="active" at={allocation.active_at} />],
          allocation.ended_at !== null && ["Ended", <RelativeTime key="ended" at={allocation.ended_at} />],
          allocation.wipe_verified !== null && [
            "Wipe",
            <StateBadge key="wipe" state={allocation.wipe_verified ? "verified" : "not_verified"} />,
          ],
          ["Id", <Mono key="id" text={allocation.id} copy="Copy id" />],
          ["Host", <Mono key="host" text={allocation.node_id} copy="Copy host id" />],
          ["Asked for by", <Mono key="by" text={allocation.created_by} />],
          ["Request", <Correlation key="correlation" id={allocation.correlation_id} />],
        ]}
      />
    </Panel>
  );
}
