import { useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { ActionButton } from "../actions/ActionButton";
import type { AccessCredential, SshKey } from "../api/types";
import { useProject } from "../app/project";
import { useSession } from "../app/session";
import { Icon } from "../parts/Icon";
import { Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { wholeListing } from "../parts/wholeListing";
import {
  CREDENTIAL_ACTIONS,
  credentialCreateSpec,
  passwordChangeSpec,
  sshKeyCreateSpec,
  sshKeyDeleteSpec,
} from "./actions";
import { CredentialDrawer } from "./CredentialDrawer";
import classes from "./CredentialsPage.module.css";
import { useCredentials, useSshKeys } from "./queries";

export function CredentialsPage() {
  const project = useProject();
  return (
    <>
      <PageHead
        title="Credentials"
        lead="How people and programs get onto the allocations of this project."
      />
      <div className="stack">
        <ProjectCredentials
          projectId={project.id}
          may={project.allowed_actions.includes("access_credential_create")}
        />
        <MyKeys />
        <MyPassword />
      </div>
    </>
  );
}

function ProjectCredentials({ projectId, may }: { projectId: string; may: boolean }) {
  const project = useProject();
  const listing = useCredentials(projectId);
  const [shown, setShown] = useState<string | null>(null);
  const open = listing.rows.find((one) => one.id === shown);
  const columns: Column<AccessCredential>[] = [
    {
      key: "name",
      header: "Name",
      width: "minmax(9rem, 2fr)",
      cell: (one) => (
        <button type="button" className={classes.open} onClick={() => setShown(one.id)}>
          {one.name}
        </button>
      ),
      value: (one) => one.name,
    },
    {
      key: "kind",
      header: "Kind",
      width: "9rem",
      cell: (one) => labelOf(one.kind),
      value: (one) => one.kind,
    },
    {
      key: "state",
      header: "State",
      width: "7rem",
      cell: (one) => <StateBadge state={one.revoked_at ? "revoked" : "active"} />,
      value: (one) => one.revoked_at,
    },
    {
      key: "version",
      header: "Version",
      width: "5rem",
      align: "end",
      cell: (one) => one.version,
      value: (one) => one.version,
    },
    {
      key: "rotated",
      header: "Rotated",
      width: "6.5rem",
      cell: (one) => <RelativeTime at={one.rotated_at} />,
      value: (one) => one.rotated_at,
    },
    {
      key: "actions",
      header: "Actions",
      width: "12rem",
      cell: (one) => (
        <span className={classes.actions}>
          <ActionBar
            resource={one}
            name={one.name}
            allowed={one.allowed_actions}
            table={CREDENTIAL_ACTIONS}
            size="compact-xs"
          />
        </span>
      ),
    },
  ];
  return (
    <Panel
      title="Access credentials of the project"
      flush
      aside={
        may && (
          <ActionButton
            spec={credentialCreateSpec}
            resource={project}
            name={project.name}
            icon={<Icon name="plus" size={14} />}
            size="compact-xs"
          />
        )
      }
    >
      <ResourceTable
        plain
        label="Access credentials"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={
          <Empty
            icon="key"
            title="No credentials"
            text="A credential lets a program onto the project's allocations, by certificates or by a key that the platform keeps."
          />
        }
      />
      {open && <CredentialDrawer credential={open} onClose={() => setShown(null)} />}
    </Panel>
  );
}

function MyKeys() {
  const listing = wholeListing(useSshKeys());
  const columns: Column<SshKey>[] = [
    {
      key: "name",
      header: "Name",
      width: "minmax(8rem, 1fr)",
      cell: (one) => one.name,
      value: (one) => one.name,
    },
    {
      key: "fingerprint",
      header: "Fingerprint",
      width: "minmax(12rem, 2fr)",
      cell: (one) => <Mono text={one.fingerprint} copy="Copy fingerprint" />,
      value: (one) => one.fingerprint,
    },
    {
      key: "added",
      header: "Added",
      width: "6rem",
      cell: (one) => <RelativeTime at={one.created_at} />,
      value: (one) => one.created_at,
    },
    {
      key: "delete",
      header: "Actions",
      width: "7rem",
      cell: (one) => (
        <ActionButton spec={sshKeyDeleteSpec} resource={one} name={one.name} size="compact-xs" />
      ),
    },
  ];
  return (
    <Panel
      title="My SSH keys"
      flush
      aside={
        <ActionButton
          spec={sshKeyCreateSpec}
          resource={null}
          name="SSH key"
          icon={<Icon name="plus" size={14} />}
          size="compact-xs"
        />
      }
    >
      <ResourceTable
        plain
        label="My SSH keys"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={
          <Empty
            icon="key"
            title="You have stored no key"
            text="Certificates need none; grants and other SSH programs do."
          />
        }
      />
    </Panel>
  );
}

function MyPassword() {
  const { user } = useSession();
  return (
    <Panel
      title="My password"
      aside={
        <ActionButton
          spec={passwordChangeSpec}
          resource={null}
          name={user.email ?? user.name}
          size="compact-xs"
        />
      }
    >
      <span className="dim">Of {user.email ?? user.name}. Changing it ends your other sessions.</span>
    </Panel>
  );
}
