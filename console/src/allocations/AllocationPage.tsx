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
import { ActorName } from "../team/ActorName";
import { TerminalPanel } from "../terminal/TerminalPanel";
import { AllocationWorkloads, ReceiptsHere } from "./AllocationWorkloads";
import { ALLOCATION_ACTIONS, nameOf } from "./actions";
import { HealthNotices } from "./HealthNotices";
import { useAllocation } from "./queries";
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
          <AllocationWorkloads allocation={allocation} />
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
  if (allocation.failure?.code === "host_lost") return "Released; the wipe waits for the lost host";
  if (allocation.state === "active") return "The host has not applied the last access change";
  return allocation.state === "release_failed" ? "The release failed" : "Provisioning failed";
}

/** What the proof of the wipe reached, and what it had to. */
function gradeOf(allocation: Allocation): string {
  const required = `${allocation.wipe_grade_required} is required`;
  return allocation.wipe_grade === null ? required : `${allocation.wipe_grade}; ${required}`;
}

function Facts({ allocation }: { allocation: Allocation }) {
  return (
    <Panel title="State">
      <KeyValues
        items={[
          ["State", <StateBadge key="state" state={allocation.state} />],
          ["Since", <RelativeTime key="since" at={allocation.state_since} />],
          allocation.health !== null && ["Health", <StateBadge key="health" state={allocation.health} />],
          allocation.phase !== null && ["Current phase", allocation.phase],
          allocation.deadline_at !== null && [
            "Deadline",
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
          allocation.wipe_grade_required !== null && ["Wipe grade", gradeOf(allocation)],
          allocation.wipe_not_examined.length > 0 && [
            "Not examined",
            allocation.wipe_not_examined.join(", "),
          ],
          ["ID", <Mono key="id" text={allocation.id} copy="Copy ID" />],
          ["Host", <Mono key="host" text={allocation.node_id} copy="Copy host ID" />],
          ["Requested by", <ActorName key="by" id={allocation.created_by} />],
          ["Request", <Correlation key="correlation" id={allocation.correlation_id} />],
        ]}
      />
    </Panel>
  );
}
