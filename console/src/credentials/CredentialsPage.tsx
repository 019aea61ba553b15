import { useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import { CreateButton } from "../actions/CreateButton";
import { actionsColumn, barColumn } from "../actions/columns";
import type { AccessCredential, SshKey } from "../api/types";
import { useProject } from "../app/project";
import { useSession } from "../app/session";
import {
  countColumn,
  endedColumn,
  labelColumn,
  monoColumn,
  openColumn,
  textColumn,
  timeColumn,
} from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { Panel } from "../parts/Panel";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { wholeListing } from "../parts/wholeListing";
import {
  CREDENTIAL_ACTIONS,
  credentialCreateSpec,
  passwordChangeSpec,
  sshKeyCreateSpec,
  sshKeyDeleteSpec,
} from "./actions";
import { CredentialDrawer } from "./CredentialDrawer";
import { useCredentials, useSshKeys } from "./queries";

export function CredentialsPage() {
  const project = useProject();
  return (
    <>
      <PageHead
        title="Credentials"
        lead="How users and programs get access to the allocations of this project."
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
    openColumn(
      "name",
      "Name",
      (one) => one.name,
      (one) => setShown(one.id),
      "minmax(9rem, 2fr)",
    ),
    labelColumn("kind", "Kind", (one) => one.kind, "9rem"),
    endedColumn((one) => one.revoked_at, "revoked"),
    countColumn("version", "Version", (one) => one.version),
    timeColumn("rotated", "Rotated", (one) => one.rotated_at, "6.5rem"),
    barColumn({ table: CREDENTIAL_ACTIONS, name: (one) => one.name }, "12rem"),
  ];
  return (
    <TablePanel
      title="Access credentials of the project"
      aside={
        may && (
          <CreateButton
            spec={credentialCreateSpec}
            resource={project}
            name={project.name}
            size="compact-xs"
          />
        )
      }
      label="Access credentials"
      columns={columns}
      listing={listing}
      empty={
        <Empty
          icon="key"
          title="No credentials"
          text="A credential gives a program access to the project's allocations, by certificates or by a key that the platform stores."
        />
      }
    >
      {open && <CredentialDrawer credential={open} onClose={() => setShown(null)} />}
    </TablePanel>
  );
}

function MyKeys() {
  const listing = wholeListing(useSshKeys());
  const columns: Column<SshKey>[] = [
    textColumn("name", "Name", (one) => one.name, "minmax(8rem, 1fr)"),
    monoColumn(
      "fingerprint",
      "Fingerprint",
      (one) => one.fingerprint,
      "minmax(12rem, 2fr)",
      "Copy fingerprint",
    ),
    timeColumn("added", "Added", (one) => one.created_at, "6rem"),
    actionsColumn(
      (one) => <ActionButton spec={sshKeyDeleteSpec} resource={one} name={one.name} size="compact-xs" />,
      "7rem",
    ),
  ];
  return (
    <TablePanel
      title="My SSH keys"
      aside={<CreateButton spec={sshKeyCreateSpec} resource={null} name="SSH key" size="compact-xs" />}
      columns={columns}
      listing={listing}
      empty={
        <Empty
          icon="key"
          title="No stored keys"
          text="Certificates do not need a stored key. Grants and other SSH programs do."
        />
      }
    />
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
