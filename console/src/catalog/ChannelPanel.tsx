// Which versions of an app the project gets: stable ones, or the canary.
import { ActionBar } from "../actions/ActionBar";
import type { ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { CatalogEntry } from "../api/types";
import { useProject } from "../app/project";
import { Panel } from "../parts/Panel";
import { channelText, hasChannels } from "./channelText";

export function ChannelPanel({ entry }: { entry: CatalogEntry }) {
  const project = useProject();
  if (!hasChannels(entry)) return null;
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
      <p>{channelText(entry)}</p>
    </Panel>
  );
}

function actionsOf(project: string, entry: CatalogEntry): ActionTable<CatalogEntry> {
  return {
    catalog_channel_set: {
      label: "Pin",
      description: () =>
        "Stable or canary pins this project to it. Automatic removes the pin: the canary's percentage decides, and always in the same way.",
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
      done: "Channel set",
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
