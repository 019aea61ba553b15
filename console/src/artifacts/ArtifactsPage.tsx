import { useState } from "react";
import type { Artifact } from "../api/types";
import { useProject } from "../app/project";
import { countColumn, linkColumn, monoColumn, stateColumn, textColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { StateFilter } from "../parts/StateFilter";
import { Tabbed } from "../parts/Tabbed";
import { OwnApps } from "./OwnApps";
import { Publish } from "./Publish";
import { useArtifacts } from "./queries";
import { size } from "./size";
import { Unused } from "./Unused";

const STAGES: Artifact["stage"][] = ["draft", "staged", "canary", "active", "deprecated", "retired"];

const COLUMNS: Column<Artifact>[] = [
  linkColumn(
    "name",
    "Name",
    (one) => one.name,
    { to: (one) => `/artifacts/${one.id}` },
    "minmax(9rem, 1.5fr)",
  ),
  textColumn(
    "kind",
    "Kind",
    (one) => one.kind,
    "5rem",
    (one) => (one.kind === "oci" ? "Image" : "Blob"),
  ),
  monoColumn("digest", "Digest", (one) => one.digest, "minmax(9rem, 1.5fr)", "Copy digest"),
  {
    key: "stage",
    header: "Stage",
    width: "8rem",
    cell: (one) => (
      <>
        <StateBadge state={one.stage} />
        {one.canary_percent > 0 && <span className="dim"> {one.canary_percent} %</span>}
      </>
    ),
    value: (one) => STAGES.indexOf(one.stage),
  },
  stateColumn(
    "trust",
    "Trust",
    (one) => (one.deleting ? "deleting" : one.checking ? "verifying" : one.trust),
    "9rem",
    (one) => one.trust,
  ),
  countColumn(
    "size",
    "Size",
    (one) => one.size_bytes,
    "6rem",
    (one) => size(one.size_bytes),
  ),
  timeColumn("since", "Since", (one) => one.stage_since),
];

export function ArtifactsPage() {
  const project = useProject();
  return (
    <>
      <PageHead title="Artifacts" lead="The images and files that apps consist of, identified by digest." />
      <Tabbed
        label="Parts of the artifacts page"
        tabs={[
          { key: "artifacts", label: "Artifacts", content: () => <Artifacts project={project.id} /> },
          { key: "apps", label: "Apps of this project", content: () => <OwnApps project={project} /> },
          { key: "unused", label: "Unused", content: () => <Unused project={project} /> },
          { key: "publish", label: "Publish", content: () => <Publish project={project} /> },
        ]}
      />
    </>
  );
}

function Artifacts({ project }: { project: string }) {
  const [stage, setStage] = useState<Artifact["stage"] | undefined>();
  const listing = useArtifacts(project, stage);
  return (
    <ResourceTable
      label="Artifacts"
      columns={COLUMNS}
      listing={listing}
      rowId={(one) => one.id}
      height="calc(100dvh - 18rem)"
      tools={<StateFilter label="Stage" states={STAGES} value={stage} onChange={setStage} />}
      empty={
        <Empty
          icon="box"
          title={stage ? "No artifacts in this stage" : "No artifacts yet"}
          text={stage ? undefined : "Publish a file or an image, then promote it stage by stage."}
        />
      }
    />
  );
}
