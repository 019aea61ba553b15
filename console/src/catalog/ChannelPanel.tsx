// Which versions of an app the project gets: stable ones, or the canary.
import { ActionBar } from "../actions/ActionBar";
import type { ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { CatalogEntry } from "../api/types";
import { useProject } from "../app/project";
import { Panel } from "../parts/Panel";

export function ChannelPanel({ entry }: { entry: CatalogEntry }) {
  const project = useProject();
  const canary = entry.versions.find((one) => one.status === "canary");
  // Without a canary there is nothing to choose, unless something was chosen before.
  if (!canary && !entry.channel_pinned) return null;
  return (
    <Panel
      title="Channel"
      aside={
        <ActionBar
          resource={entry}
          name={entry.display_name}
          allowed={entry.allowed_actions}
          table={actionsOf(project.id, entry)}
        />
      }
    >
      <p>
        This project gets {entry.channel === "canary" ? "the canary" : "stable versions"}
        {entry.channel_pinned ? ", by its own choice" : ""}: launches take {entry.latest ?? "no version"}.
        {canary && ` ${canary.version} is a canary for ${canary.canary_percent}% of the projects.`}
      </p>
    </Panel>
  );
}

function actionsOf(project: string, entry: CatalogEntry): ActionTable<CatalogEntry> {
  return {
    catalog_channel_set: {
      label: "Choose",
      description: () => "Automatic: a hash of the app and the project decides, always in the same way.",
      form: {
        type: "object",
        required: ["channel"],
        properties: {
          channel: {
            type: "string",
            enum: ["automatic", "stable", "canary"],
            default: entry.channel_pinned ? entry.channel : "automatic",
            "x-ui": { label: "Channel" },
          },
        },
      },
      done: "Chosen",
      run: (one, values) =>
        invalidateAfter(
          body(
            api.PUT("/api/v1/projects/{project_id}/catalog/{slug}/channel", {
              params: { path: { project_id: project, slug: one.slug } },
              body: { channel: values.channel as "automatic" | "stable" | "canary" },
            }),
          ),
          ["catalog", project],
        ),
    },
  };
}
