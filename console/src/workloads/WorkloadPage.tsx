import { useParams } from "@tanstack/react-router";
import { useCallback } from "react";
import { ActionBar } from "../actions/ActionBar";
import type { Instance } from "../api/types";
import { useProject } from "../app/project";
import type { Manifest } from "../catalog/manifest";
import { useCatalogEntry } from "../catalog/queries";
import { LogPanel } from "../logs/LogPanel";
import { OperationTable } from "../operations/OperationTable";
import { Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { PhaseChart } from "../parts/PhaseChart";
import { StateBadge } from "../parts/StateBadge";
import { Receipts } from "../receipts/Receipts";
import { Access } from "./Access";
import { workloadActions } from "./actions";
import { Drift } from "./Drift";
import { Facts } from "./Facts";
import { Failures } from "./Failures";
import { Health } from "./Health";
import { LiveOperation } from "./LiveOperation";
import { MemberPanel } from "./MemberPanel";
import { memberName, useMembers } from "./members";
import { phasesOf } from "./phases";
import { useInstance } from "./queries";
import { Secrets } from "./Secrets";
import { ServedProjects } from "./ServedProjects";
import { Timeline } from "./Timeline";
import { useTimeline } from "./timeline";
import { Usage } from "./Usage";

export function WorkloadPage() {
  const { instanceId } = useParams({ strict: false }) as { instanceId: string };
  const project = useProject();
  const query = useInstance(project.id, instanceId);
  return (
    <>
      {!query.data && <PageHead title="Workload" />}
      <Loaded query={query}>{(instance) => <Shown instance={instance} />}</Loaded>
    </>
  );
}

function Shown({ instance }: { instance: Instance }) {
  const entry = useCatalogEntry(instance.project_id, instance.app_slug, instance.version);
  const members = useMembers(instance.project_id, instance.id, true);
  const timeline = useTimeline(instance.project_id, instance.id);
  const manifest = (entry.data?.manifest ?? {}) as Manifest;
  const nameOf = useCallback(
    (id: string) => memberName(members.rows.find((one) => one.id === id)) ?? id,
    [members.rows],
  );
  const gone = instance.decommissioned_at !== null;
  return (
    <>
      <PageHead
        title={instance.name}
        badges={
          <>
            <StateBadge state={gone ? "decommissioned" : instance.status} />
            {!gone && <StateBadge state={instance.health} />}
          </>
        }
        above={<PageLink to="/workloads">Workloads</PageLink>}
        lead={
          <>
            <PageLink to={`/catalog/${instance.app_slug}`}>
              {entry.data?.display_name ?? instance.app_slug}
            </PageLink>{" "}
            {instance.version}
            {instance.mode && `, ${instance.mode.name}: ${instance.mode.meaning}`}
          </>
        }
        actions={
          <ActionBar
            resource={instance}
            name={instance.name}
            allowed={instance.allowed_actions}
            table={workloadActions(instance, manifest.options)}
          />
        }
      />
      <div className="stack">
        <Failures
          instance={instance}
          members={members.rows.filter((one) => one.removed_at === null)}
          options={manifest.options ?? {}}
        />
        <LiveOperation instance={instance} nameOf={nameOf} />
        <Health instance={instance} nameOf={nameOf} />
        <Drift instance={instance} nameOf={nameOf} />
        {!gone && <MemberPanel instance={instance} manifest={manifest} members={members} />}
        {instance.allowed_actions.includes("log_read") && (
          <LogPanel instance={instance} members={members.rows.filter((one) => one.removed_at === null)} />
        )}
        <div className="columns">
          <div className="stack">
            {!gone && <Access instance={instance} />}
            <Panel title="Events">
              <Loaded query={timeline}>{(events) => <Timeline events={events} nameOf={nameOf} />}</Loaded>
            </Panel>
          </div>
          <div className="stack">
            <Panel title="Phases">
              <Loaded query={timeline}>
                {(events) => (
                  <PhaseChart spans={phasesOf(events, instance)} label="States of the workload over time" />
                )}
              </Loaded>
            </Panel>
            <Facts instance={instance} />
          </div>
        </div>
        <Panel title="Operations" flush>
          <OperationTable filter={{ instance_id: instance.id }} nameOf={nameOf} />
        </Panel>
        <Secrets instance={instance} />
        <ServedProjects instance={instance} />
        <Usage instance={instance} />
        <Receipts
          project={instance.project_id}
          filter={{ instance_id: instance.id }}
          nameOf={nameOf}
          hideEmpty
        />
      </div>
    </>
  );
}
