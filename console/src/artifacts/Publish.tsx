import { Button, FileInput, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { barColumn } from "../actions/columns";
import type { ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter, stale } from "../api/stale";
import type { Project, PublishIntent } from "../api/types";
import { dimColumn, stateColumn, textColumn, timeColumn, unsorted } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { notify } from "../parts/notify";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import type { Column } from "../parts/ResourceTable";
import { Snippet } from "../parts/Snippet";
import { TablePanel } from "../parts/TablePanel";
import { ExternalImage } from "./ExternalImage";
import { publishBlob } from "./publishBlob";
import { usePublishIntents } from "./queries";

export function Publish({ project }: { project: Project }) {
  const may = project.allowed_actions.includes("publish_intent_create");
  return (
    <div className="stack">
      <div className="columns">
        <div className="stack">
          {may && <Upload project={project} />}
          <HowTo project={project} />
        </div>
        {project.allowed_actions.includes("publish_intent_refer") && <ExternalImage project={project} />}
      </div>
      <Intents project={project} />
    </div>
  );
}

function Upload({ project }: { project: Project }) {
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState("");
  const publish = useMutation({
    mutationFn: () => publishBlob(project.id, name.trim(), file as File),
    onSuccess: () => {
      setFile(null);
      setName("");
      notify("Uploaded. The platform is checking the bytes");
    },
    onSettled: () => void Promise.all([stale("publish-intents", project.id), stale("artifacts", project.id)]),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    publish.mutate();
  };
  return (
    <Panel title="Upload a file">
      <form onSubmit={submit}>
        <Stack gap="md">
          <FileInput
            label="File"
            placeholder="Choose a file"
            value={file}
            onChange={setFile}
            clearable
            required
          />
          <TextInput
            label="Name"
            description="All versions of an artifact share its name; the digest tells them apart."
            required
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {publish.error && <ProblemPanel problem={explained(publish.error)} />}
          <Group justify="flex-end">
            <Button type="submit" size="xs" disabled={!file || !name.trim()} loading={publish.isPending}>
              Publish
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

function HowTo({ project }: { project: Project }) {
  return (
    <Panel title="From the command line">
      <Stack gap="sm">
        <Text size="sm">A file of any size:</Text>
        <Snippet
          label="Command for a file"
          text={`gpuaas artifacts publish ./model.tar --name model --project ${project.id}`}
        />
        <Text size="sm">An image: get the repository, push with any client, then register the digest.</Text>
        <Snippet
          label="Commands for an image"
          text={`gpuaas artifacts push-target trainer --project ${project.id}\npodman push --digestfile digest trainer REGISTRY/REPOSITORY:1\ngpuaas artifacts register trainer $(cat digest) --project ${project.id}`}
        />
      </Stack>
    </Panel>
  );
}

const INTENT_ACTIONS: ActionTable<PublishIntent> = {
  publish_intent_cancel: {
    label: "Cancel",
    run: (one) =>
      invalidateAfter(
        body(
          api.POST("/api/v1/projects/{project_id}/publish-intents/{publish_intent_id}/cancel", {
            params: { path: { project_id: one.project_id, publish_intent_id: one.id } },
          }),
        ),
        ["publish-intents", one.project_id],
      ),
    done: "Cancelled",
  },
};

const COLUMNS: Column<PublishIntent>[] = [
  textColumn(
    "name",
    "Name",
    (one) => one.name,
    "minmax(8rem, 1fr)",
    (one) =>
      one.artifact_id ? <PageLink to={`/artifacts/${one.artifact_id}`}>{one.name}</PageLink> : one.name,
  ),
  stateColumn("state", "State", (one) => one.state),
  unsorted(
    dimColumn(
      "why",
      "Status detail",
      (one) => (one.failure ? `${one.failure.message} ${one.failure.next_step}` : ""),
      "minmax(10rem, 3fr)",
    ),
  ),
  timeColumn("until", "Expires", (one) => one.deadline_at, "7rem"),
  timeColumn("at", "When", (one) => one.created_at),
  barColumn({ table: INTENT_ACTIONS, name: (one) => one.name }, "6.5rem"),
];

function Intents({ project }: { project: Project }) {
  const listing = usePublishIntents(project.id);
  return (
    <TablePanel
      title="Publish intents"
      label="Publish intents"
      columns={COLUMNS}
      listing={listing}
      empty={<Empty icon="box" title="No publish intents" />}
    />
  );
}
