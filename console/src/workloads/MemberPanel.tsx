import { SegmentedControl } from "@mantine/core";
import { useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import type { Listing } from "../api/pages";
import type { Instance, InstanceMember } from "../api/types";
import type { Manifest } from "../catalog/manifest";
import { Panel } from "../parts/Panel";
import { MemberGraph } from "./MemberGraph";
import { MemberTable } from "./MemberTable";
import { addAction } from "./memberActions";

interface Props {
  instance: Instance;
  manifest: Manifest;
  /** Removed ones too: they are known by name in the history. */
  members: Listing<InstanceMember>;
}

/** Who the workload is made of: as a table, and as a picture. */
export function MemberPanel({ instance, manifest, members }: Props) {
  const [view, setView] = useState("table");
  const living = { ...members, rows: members.rows.filter((one) => one.removed_at === null) };
  return (
    <Panel
      title="Members"
      flush
      aside={
        <>
          <SegmentedControl
            size="xs"
            aria-label="Member view"
            data={[
              { value: "table", label: "Table" },
              { value: "picture", label: "Graph" },
            ]}
            value={view}
            onChange={setView}
          />
          <ActionBar
            resource={{ instance, members: [] }}
            name={instance.name}
            allowed={instance.allowed_actions}
            table={addAction(manifest.options ?? {})}
          />
        </>
      }
    >
      {view === "picture" ? (
        <MemberGraph components={manifest.components ?? []} members={living.rows} />
      ) : (
        <MemberTable instance={instance} options={manifest.options ?? {}} members={living} />
      )}
    </Panel>
  );
}
