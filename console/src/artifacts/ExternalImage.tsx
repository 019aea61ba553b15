// Registers an image that stays in another registry: by digest, with a credential if it needs one.
import { Button, Group, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, body } from "../api/client";
import { stale } from "../api/stale";
import type { Project } from "../api/types";
import { notify } from "../parts/notify";
import { Panel } from "../parts/Panel";
import { explained, ProblemPanel } from "../parts/ProblemPanel";

const EMPTY = { name: "", reference: "", username: "", password: "" };
type Fields = typeof EMPTY;

export function ExternalImage({ project }: { project: Project }) {
  const [fields, setFields] = useState<Fields>(EMPTY);
  const change = (key: keyof Fields) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget;
    setFields((before) => ({ ...before, [key]: value }));
  };
  const register = useMutation({
    mutationFn: () => registerImage(project.id, fields),
    onSuccess: () => {
      setFields(EMPTY);
      notify("The platform is reading the manifest");
    },
    onSettled: () => void Promise.all([stale("publish-intents", project.id), stale("artifacts", project.id)]),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    register.mutate();
  };
  const half = !fields.username !== !fields.password;
  return (
    <Panel title="Image in another registry">
      <form onSubmit={submit} autoComplete="off">
        <Stack gap="md">
          <TextInput label="Image name" required value={fields.name} onChange={change("name")} />
          <TextInput
            label="Reference"
            description="By digest. The image stays where it is, and hosts pull it from there."
            placeholder="registry.example.com/team/image@sha256:…"
            required
            value={fields.reference}
            onChange={change("reference")}
          />
          <TextInput
            label="User name"
            description="Empty for a public image. With a credential, only your tenant can launch the image."
            error={fields.password && !fields.username ? "Enter the user name for this password" : undefined}
            value={fields.username}
            onChange={change("username")}
          />
          <PasswordInput
            label="Password or token"
            description="Use one that can only pull. It is stored encrypted and never shown."
            error={
              fields.username && !fields.password ? "Enter the password or token of this user" : undefined
            }
            autoComplete="new-password"
            value={fields.password}
            onChange={change("password")}
          />
          {register.error && <ProblemPanel problem={explained(register.error)} />}
          <Group justify="flex-end">
            <Button
              type="submit"
              size="xs"
              disabled={!fields.name.trim() || !fields.reference.trim() || half}
              loading={register.isPending}
            >
              Register
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

function registerImage(project_id: string, fields: Fields) {
  const { name, reference, username, password } = fields;
  return body(
    api.POST("/api/v1/projects/{project_id}/external-images", {
      params: { path: { project_id } },
      body: {
        name: name.trim(),
        reference: reference.trim(),
        credential: username ? { username, password } : null,
      },
    }),
  );
}
