import { Drawer, Stack } from "@mantine/core";
import { useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { ActionButton } from "../actions/ActionButton";
import type { App, AppVersion, Project } from "../api/types";
import { Empty, Loaded } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { Snippet } from "../parts/Snippet";
import { StateBadge } from "../parts/StateBadge";
import { registerSpec, VERSION_ACTIONS } from "./appActions";
import classes from "./OwnApps.module.css";
import { useApps, useVersion, useVersions } from "./queries";

/** Apps that are published from this project, and their versions. */
export function OwnApps({ project }: { project: Project }) {
  const listing = useApps(project.id);
  const [shown, setShown] = useState<App | null>(null);
  const columns: Column<App>[] = [
    {
      key: "name",
      header: "App",
      width: "minmax(9rem, 2fr)",
      cell: (one) => (
        <button type="button" className={classes.open} onClick={() => setShown(one)}>
          {one.display_name}
        </button>
      ),
      value: (one) => one.display_name,
    },
    {
      key: "slug",
      header: "Slug",
      width: "minmax(7rem, 1fr)",
      cell: (one) => <code>{one.slug}</code>,
      value: (one) => one.slug,
    },
    {
      key: "seen",
      header: "Seen by",
      width: "8rem",
      cell: (one) => one.visibility,
      value: (one) => one.visibility,
    },
    {
      key: "at",
      header: "Since",
      width: "5.5rem",
      cell: (one) => <RelativeTime at={one.created_at} />,
      value: (one) => one.created_at,
    },
  ];
  return (
    <Panel
      title="Apps of this project"
      flush
      aside={
        project.allowed_actions.includes("publish_intent_create") && (
          <ActionButton spec={registerSpec} resource={project} name={project.name} size="compact-xs" />
        )
      }
    >
      <ResourceTable
        plain
        label="Apps of this project"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={
          <Empty
            icon="apps"
            title="No app is published from here"
            text="Register a version of one with its manifest."
          />
        }
      />
      {shown && <Versions app={shown} onClose={() => setShown(null)} />}
    </Panel>
  );
}

function Versions({ app, onClose }: { app: App; onClose: () => void }) {
  const listing = useVersions(app.project_id, app.id);
  const [open, setOpen] = useState<string | null>(null);
  const columns: Column<AppVersion>[] = [
    {
      key: "version",
      header: "Version",
      width: "minmax(6rem, 1fr)",
      cell: (one) => (
        <button type="button" className={classes.open} onClick={() => setOpen(one.id)}>
          {one.version}
        </button>
      ),
      value: (one) => one.version,
    },
    {
      key: "runtime",
      header: "Runtime",
      width: "6rem",
      cell: (one) => one.runtime_version,
      value: (one) => one.runtime_version,
    },
    {
      key: "status",
      header: "Status",
      width: "8rem",
      cell: (one) => <StateBadge state={one.status} />,
      value: (one) => one.status,
    },
    {
      key: "actions",
      header: "Actions",
      width: "13rem",
      cell: (one) => (
        <span className={classes.actions}>
          <ActionBar
            resource={one}
            name={`${one.slug} ${one.version}`}
            allowed={one.allowed_actions}
            table={VERSION_ACTIONS}
            size="compact-xs"
          />
        </span>
      ),
    },
  ];
  return (
    <Drawer
      opened
      onClose={onClose}
      title={app.display_name}
      position="right"
      size="xl"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="lg">
        <span className="dim">{app.description}</span>
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
    </Drawer>
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
