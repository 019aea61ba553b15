import { Button, FileInput, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import type { ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { stale, thenStale } from "../api/stale";
import type { Project, PublishIntent } from "../api/types";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { Snippet } from "../parts/Snippet";
import { StateBadge } from "../parts/StateBadge";
import { tell } from "../parts/tell";
import { publishBlob } from "./publishing";
import { usePublishIntents } from "./queries";

export function Publish({ project }: { project: Project }) {
  const may = project.allowed_actions.includes("publish_intent_create");
  return (
    <div className="stack">
      <div className="columns">
        {may && <Upload project={project} />}
        <HowTo project={project} />
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
      tell("Uploaded; every byte is being read");
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
            description="Shared by all versions of the same thing; the digest tells them apart."
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
        <Text size="sm">A file, of any size:</Text>
        <Snippet
          label="Command for a file"
          text={`gpuaas artifacts publish ./model.tar --name model --project ${project.id}`}
        />
        <Text size="sm">
          An image: ask where to push it, push it with any client, then register its digest.
        </Text>
        <Snippet
          label="Commands for an image"
          text={`gpuaas artifacts push-place trainer --project ${project.id}\npodman push --digestfile digest trainer REGISTRY/REPOSITORY:1\ngpuaas artifacts register trainer $(cat digest) --project ${project.id}`}
        />
      </Stack>
    </Panel>
  );
}

const INTENT_ACTIONS: ActionTable<PublishIntent> = {
  publish_intent_cancel: {
    label: "Cancel",
    run: (one) =>
      thenStale(
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
  {
    key: "name",
    header: "Name",
    width: "minmax(8rem, 1fr)",
    cell: (one) =>
      one.artifact_id ? <PageLink to={`/artifacts/${one.artifact_id}`}>{one.name}</PageLink> : one.name,
    value: (one) => one.name,
  },
  {
    key: "state",
    header: "State",
    width: "8rem",
    cell: (one) => <StateBadge state={one.state} />,
    value: (one) => one.state,
  },
  {
    key: "why",
    header: "What to know",
    width: "minmax(10rem, 3fr)",
    cell: (one) => (
      <span className="dim">{one.failure ? `${one.failure.message} ${one.failure.next_step}` : ""}</span>
    ),
  },
  {
    key: "until",
    header: "Ends by itself",
    width: "7rem",
    cell: (one) => <RelativeTime at={one.deadline_at} />,
    value: (one) => one.deadline_at,
  },
  {
    key: "at",
    header: "When",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.created_at} />,
    value: (one) => one.created_at,
  },
  {
    key: "actions",
    header: "Actions",
    width: "6.5rem",
    cell: (one) => (
      <ActionBar
        resource={one}
        name={one.name}
        allowed={one.allowed_actions}
        table={INTENT_ACTIONS}
        size="compact-xs"
      />
    ),
  },
];

function Intents({ project }: { project: Project }) {
  const listing = usePublishIntents(project.id);
  return (
    <Panel title="Publishing until now" flush>
      <ResourceTable
        plain
        label="Publish intents"
        columns={COLUMNS}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="box" title="Nothing was published yet" />}
      />
    </Panel>
  );
}
