import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { ActionSpec } from "../actions/spec";
import { Snippet } from "./Snippet";

export interface Secret {
  title: string;
  /** What it is for and what to do with it. */
  description: string;
  parts: { label: string; text: string }[];
}

/** A secret that the platform shows once and keeps only a digest of. It is in the memory of this page, and nowhere else. */
export function OneTimeSecret({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={secret.title}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="md">
        <Text size="sm">{secret.description}</Text>
        {secret.parts.map((part) => (
          <div key={part.label}>
            <Text size="xs" c="dimmed" mb={4}>
              {part.label}
            </Text>
            <Snippet text={part.text} label={part.label} wrap />
          </div>
        ))}
        <Group justify="flex-end">
          <Button onClick={onClose}>I have saved it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The action, whose answer is shown to the person when it comes. */
export function shows<T, A>(spec: ActionSpec<T, A>, show: (answer: A) => void): ActionSpec<T, A> {
  return {
    ...spec,
    run: async (resource, values) => {
      const answer = await spec.run(resource, values);
      show(answer);
      return answer;
    },
  };
}
