import { useParams } from "@tanstack/react-router";
import { ActionBar } from "../actions/ActionBar";
import type { Artifact, Evidence } from "../api/types";
import { useProject } from "../app/project";
import { dimColumn, labelColumn, textColumn, timeColumn } from "../parts/columns";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Empty, Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import type { Column } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { TablePanel } from "../parts/TablePanel";
import { ActorName } from "../team/ActorName";
import { ARTIFACT_ACTIONS } from "./actions";
import { useArtifact, useEvidence } from "./queries";
import { size } from "./size";

export function ArtifactPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const project = useProject();
  const query = useArtifact(project.id, id);
  return (
    <>
      {!query.data && <PageHead title="Artifact" />}
      <Loaded query={query}>{(artifact) => <Shown artifact={artifact} />}</Loaded>
    </>
  );
}

function Shown({ artifact }: { artifact: Artifact }) {
  const content = `/api/v1/projects/${artifact.project_id}/artifacts/${artifact.id}/content`;
  return (
    <>
      <PageHead
        above={<PageLink to="/artifacts">Artifacts</PageLink>}
        title={artifact.name}
        badges={
          <>
            <StateBadge state={artifact.stage} />
            <StateBadge
              state={artifact.deleting ? "deleting" : artifact.checking ? "verifying" : artifact.trust}
            />
          </>
        }
        lead={sentence(artifact.trust_detail)}
        actions={
          <ActionBar
            resource={artifact}
            name={artifact.name}
            allowed={artifact.allowed_actions}
            table={ARTIFACT_ACTIONS}
          />
        }
      />
      <div className="stack">
        <Panel title="Details" aside={artifact.kind === "blob" && <a href={content}>Download</a>}>
          <KeyValues
            items={[
              ["Kind", artifact.kind === "oci" ? "Image" : "Blob"],
              ["Size", size(artifact.size_bytes)],
              ["Media type", artifact.media_type],
              ["Digest", <Mono key="digest" text={artifact.digest} copy="Copy digest" />],
              artifact.reference !== null && [
                "Pull",
                <Mono key="pull" text={artifact.reference} copy="Copy reference" />,
              ],
              [
                "Stage",
                `${labelOf(artifact.stage)}${artifact.canary_percent ? `, ${artifact.canary_percent} % of projects` : ""}`,
              ],
              ["Since", <RelativeTime key="since" at={artifact.stage_since} />],
              ["Checked", <RelativeTime key="checked" at={artifact.checked_at} />],
              [
                "Signed by",
                artifact.signed_by.length
                  ? artifact.signed_by.map((print) => <Mono key={print} text={print} />)
                  : null,
              ],
              ["Published by", <ActorName key="by" id={artifact.created_by} />],
              ["ID", <Mono key="id" text={artifact.id} copy="Copy ID" />],
            ]}
          />
        </Panel>
        <EvidenceTable artifact={artifact} />
      </div>
    </>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const EVIDENCE: Column<Evidence>[] = [
  labelColumn("kind", "Kind", (one) => one.kind, "5rem"),
  textColumn(
    "passed",
    "Result",
    (one) => String(one.passed),
    "6rem",
    (one) => <StateBadge state={one.passed ? "passed" : "failed"} tone={one.passed ? "good" : "bad"} />,
  ),
  labelColumn("source", "Source", (one) => one.source, "6.5rem"),
  textColumn("tool", "Tool", (one) => one.tool, "minmax(6rem, 1fr)"),
  dimColumn("summary", "Summary", (one) => one.summary, "minmax(12rem, 3fr)"),
  {
    key: "operation",
    header: "Operation",
    width: "7rem",
    cell: (one) => one.operation_id && <PageLink to={`/operations/${one.operation_id}`}>Show steps</PageLink>,
    wanted: (one) => one.operation_id !== null,
  },
  timeColumn("at", "When", (one) => one.created_at),
];

function EvidenceTable({ artifact }: { artifact: Artifact }) {
  const listing = useEvidence(artifact.project_id, artifact.id);
  return (
    <TablePanel
      title="Evidence"
      columns={EVIDENCE}
      listing={listing}
      empty={
        <Empty
          icon="check"
          title="No evidence yet"
          text="The platform lints the artifact when it checks it. A smoke test is needed as well before it can be staged."
        />
      }
    />
  );
}
