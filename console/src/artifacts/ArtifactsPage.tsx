import { Select } from "@mantine/core";
import { useState } from "react";
import type { Artifact } from "../api/types";
import { useProject } from "../app/project";
import { Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { Tabbed } from "../parts/Tabbed";
import { OwnApps } from "./OwnApps";
import { Publish } from "./Publish";
import { useArtifacts } from "./queries";
import { size } from "./size";

const STAGES: Artifact["stage"][] = ["draft", "staged", "canary", "active", "deprecated", "retired"];

const COLUMNS: Column<Artifact>[] = [
  {
    key: "name",
    header: "Name",
    width: "minmax(9rem, 1.5fr)",
    cell: (one) => <PageLink to={`/artifacts/${one.id}`}>{one.name}</PageLink>,
    value: (one) => one.name,
  },
  {
    key: "kind",
    header: "Kind",
    width: "5rem",
    cell: (one) => (one.kind === "oci" ? "Image" : "Blob"),
    value: (one) => one.kind,
  },
  {
    key: "digest",
    header: "Digest",
    width: "minmax(9rem, 1.5fr)",
    cell: (one) => <Mono text={one.digest} copy="Copy digest" />,
    value: (one) => one.digest,
  },
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
  {
    key: "trust",
    header: "Trust",
    width: "9rem",
    cell: (one) => <StateBadge state={one.checking ? "verifying" : one.trust} />,
    value: (one) => one.trust,
  },
  {
    key: "size",
    header: "Size",
    width: "6rem",
    align: "end",
    cell: (one) => size(one.size_bytes),
    value: (one) => one.size_bytes,
  },
  {
    key: "since",
    header: "Since",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.stage_since} />,
    value: (one) => one.stage_since,
  },
];

export function ArtifactsPage() {
  const project = useProject();
  return (
    <>
      <PageHead title="Artifacts" lead="What apps are made of, known by the digest of their bytes." />
      <Tabbed
        label="Parts of the artifacts page"
        tabs={[
          { key: "artifacts", label: "Artifacts", content: () => <Artifacts project={project.id} /> },
          { key: "apps", label: "Apps of this project", content: () => <OwnApps project={project} /> },
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
      tools={
        <Select
          size="xs"
          w={140}
          placeholder="Any stage"
          aria-label="Stage"
          clearable
          data={STAGES.map((one) => ({ value: one, label: labelOf(one) }))}
          value={stage ?? null}
          onChange={(next) => setStage((next ?? undefined) as Artifact["stage"] | undefined)}
        />
      }
      empty={
        <Empty
          icon="box"
          title={stage ? "None is in this stage" : "Nothing is published yet"}
          text={stage ? undefined : "Publish a file or an image, then move it stage by stage."}
        />
      }
    />
  );
}
