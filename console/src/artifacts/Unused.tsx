// Artifacts that no app version and no instance refers to, and the button that removes those whose grace period is over.
import { ActionButton } from "../actions/ActionButton";
import { type ActionSpec, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { type Listing, useRest } from "../api/pages";
import { invalidateAfter } from "../api/stale";
import type { GarbageArtifact, Project } from "../api/types";
import { countColumn, dimColumn, linkColumn, stateColumn, textColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { RelativeTime } from "../parts/RelativeTime";
import type { Column } from "../parts/ResourceTable";
import { RowActions } from "../parts/RowActions";
import { TablePanel } from "../parts/TablePanel";
import { useGarbage } from "./queries";
import { size } from "./size";

const COLUMNS: Column<GarbageArtifact>[] = [
  linkColumn(
    "name",
    "Name",
    (one) => one.name,
    { to: (one) => `/artifacts/${one.id}` },
    "minmax(9rem, 1.5fr)",
  ),
  stateColumn("stage", "Stage", (one) => one.stage, "8rem"),
  countColumn(
    "size",
    "Size",
    (one) => one.size_bytes,
    "6rem",
    (one) => size(one.size_bytes),
  ),
  dimColumn("reason", "Reason", (one) => one.reason, "minmax(12rem, 3fr)"),
  textColumn(
    "due",
    "Due",
    (one) => one.collectable_at,
    "6rem",
    (one) => (one.due ? "Now" : <RelativeTime at={one.collectable_at} />),
  ),
];

const collectSpec = (listing: Listing<GarbageArtifact>): ActionSpec<Project> => ({
  label: "Collect",
  danger: true,
  description: () => `Deletes ${dueText(listing)}, with their bytes. This cannot be undone. The others stay.`,
  form: REASON_FORM,
  run: (one, values) => invalidateAfter(collect(one.id, String(values.reason)), ["artifacts", one.id]),
  done: "Deletion started",
});

/** What a collection would delete now. */
export function dueText({ rows, more }: Pick<Listing<GarbageArtifact>, "rows" | "more">): string {
  const due = rows.filter((one) => one.due);
  const freed = size(due.reduce((sum, one) => sum + one.size_bytes, 0));
  const least = more ? "at least " : "";
  return `${least}${due.length} of ${rows.length} unused ${rows.length === 1 ? "artifact" : "artifacts"} (${freed})`;
}

/** One request looks at a portion of the artifacts, and says where to continue. */
async function collect(project_id: string, reason: string) {
  let after: string | null = null;
  do {
    const portion: { next_cursor: string | null } = await body(
      api.POST("/api/v1/projects/{project_id}/artifact-garbage/collect", {
        params: { path: { project_id } },
        body: { reason, after },
      }),
    );
    after = portion.next_cursor;
  } while (after !== null);
}

export function Unused({ project }: { project: Project }) {
  const listing = useGarbage(project.id);
  useRest(listing);
  const due = listing.rows.some((one) => one.due);
  return (
    <TablePanel
      title="Unused artifacts"
      aside={
        listing.rows.length > 0 && (
          <RowActions>
            <span>{due ? `${dueText(listing)} can be deleted now` : "Nothing can be deleted yet"}</span>
            {due && project.allowed_actions.includes("artifact_garbage_collect") && (
              <ActionButton
                spec={collectSpec(listing)}
                resource={project}
                name={project.name}
                size="compact-xs"
              />
            )}
          </RowActions>
        )
      }
      columns={COLUMNS}
      listing={listing}
      empty={
        <Empty
          icon="box"
          title="No unused artifacts"
          text="An app version or an instance refers to each artifact."
        />
      }
    />
  );
}
