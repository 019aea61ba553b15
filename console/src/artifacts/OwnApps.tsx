import { Stack } from "@mantine/core";
import { useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { ActionButton } from "../actions/ActionButton";
import { barColumn } from "../actions/columns";
import type { App, AppVersion, Project } from "../api/types";
import { openColumn, stateColumn, textColumn, timeColumn } from "../parts/columns";
import { Empty, Loaded } from "../parts/Loaded";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { SideDrawer } from "../parts/SideDrawer";
import { Snippet } from "../parts/Snippet";
import { TablePanel } from "../parts/TablePanel";
import { slugColumn } from "../tenants/columns";
import { APP_ACTIONS, registerSpec, versionActions } from "./appActions";
import { appColumn, visibilityColumn } from "./appColumns";
import { useApps, useVersion, useVersions } from "./queries";

/** Apps that are published from this project, and their versions. */
export function OwnApps({ project }: { project: Project }) {
  const listing = useApps(project.id);
  const [shown, setShown] = useState<App | null>(null);
  const columns: Column<App>[] = [
    appColumn(setShown),
    slugColumn(),
    visibilityColumn("8rem"),
    timeColumn("at", "Since", (one) => one.created_at),
  ];
  return (
    <TablePanel
      title="Apps of this project"
      aside={
        project.allowed_actions.includes("publish_intent_create") && (
          <ActionButton spec={registerSpec} resource={project} name={project.name} size="compact-xs" />
        )
      }
      columns={columns}
      listing={listing}
      empty={
        <Empty
          icon="apps"
          title="No apps in this project"
          text="Register a version with its manifest to create an app."
        />
      }
    >
      {shown && <Versions app={shown} onClose={() => setShown(null)} />}
    </TablePanel>
  );
}

function Versions({ app, onClose }: { app: App; onClose: () => void }) {
  const listing = useVersions(app.project_id, app.id);
  const [open, setOpen] = useState<string | null>(null);
  const columns: Column<AppVersion>[] = [
    openColumn(
      "version",
      "Version",
      (one) => one.version,
      (one) => setOpen(one.id),
      "minmax(5rem, 1fr)",
    ),
    textColumn("runtime", "Runtime", (one) => one.runtime_version, "5rem"),
    stateColumn("status", "Status", (one) => one.status, "7rem"),
    textColumn("note", "Note", (one) => noteOf(one), "7rem"),
    barColumn({ table: versionActions, name: (one) => `${one.slug} ${one.version}` }, "16.5rem"),
  ];
  return (
    <SideDrawer title={app.display_name} size="xl" onClose={onClose}>
      <Stack gap="lg">
        <span className="dim">{app.description}</span>
        <ActionBar resource={app} name={app.display_name} allowed={app.allowed_actions} table={APP_ACTIONS} />
        <ResourceTable
          plain
          label="Versions"
          columns={columns}
          listing={listing}
          rowId={(one) => one.id}
          empty={<Empty icon="apps" title="No versions" />}
        />
        {open && <Manifest app={app} version={open} />}
      </Stack>
    </SideDrawer>
  );
}

function Manifest({ app, version }: { app: App; version: string }) {
  const query = useVersion(app.project_id, app.id, version);
  return (
    <Loaded query={query}>
      {(found) => (
        <Snippet label={`Manifest of ${found.version}`} text={JSON.stringify(found.manifest, null, 2)} wrap />
      )}
    </Loaded>
  );
}

function noteOf(version: AppVersion): string {
  if (version.canary_percent !== null) return `${version.canary_percent}% of projects`;
  if (version.status === "draft" && version.trial_since !== null) return "On trial";
  return version.superseded ? "Superseded" : "";
}
