import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { fieldErrors } from "../api/problem";
import { check, type Errors } from "../forms/check";
import { SchemaForm } from "../forms/SchemaForm";
import { initialOf, sentOf, type Values } from "../forms/schema";
import { notify } from "../parts/notify";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import type { ActionSpec } from "./spec";

interface Props<T> {
  spec: ActionSpec<T>;
  resource: T;
  name: string;
  onClose: () => void;
}

/** Says what will happen, asks what is needed, and shows why not when it is refused. */
export function ActionDialog<T>({ spec, resource, name, onClose }: Props<T>) {
  const navigate = useNavigate();
  const [values, setValues] = useState<Values>(() =>
    spec.form ? ((initialOf(spec.form) ?? {}) as Values) : {},
  );
  const [errors, setErrors] = useState<Errors>({});
  const [typed, setTyped] = useState("");
  const ask = useMutation({
    mutationFn: (sent: Values) => spec.run(resource, sent),
    onSuccess: (answer) => {
      notify(spec.done ?? `${spec.label}: accepted`);
      onClose();
      const next = spec.follow?.(answer, resource);
      if (next) void navigate({ ...next, search: (before: object) => before } as never);
    },
    onError: (error) => {
      setErrors(
        Object.fromEntries(fieldErrors(error).map((one) => [one.where.replace(/^body\./, ""), one.message])),
      );
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = { ...(spec.form ? check(spec.form, values) : {}), ...spec.check?.(values) };
    setErrors(found);
    if (Object.keys(found).length === 0)
      ask.mutate(spec.form ? (sentOf(spec.form, values) as Values) : values);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`${spec.label}: ${name}`}
      size={spec.Extra ? "lg" : "md"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          {spec.description && <Text size="sm">{spec.description(resource)}</Text>}
          {spec.Extra && (
            <spec.Extra resource={resource} values={values} onChange={setValues} errors={errors} />
          )}
          {spec.form && (
            <SchemaForm schema={spec.form} values={values} onChange={setValues} errors={errors} />
          )}
          {spec.danger && (
            <TextInput
              label={
                <>
                  Type <code>{name}</code> to confirm
                </>
              }
              value={typed}
              autoComplete="off"
              spellCheck={false}
              data-confirm
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
          )}
          {ask.error && <ProblemPanel problem={explained(ask.error)} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button
              type="submit"
              color={spec.danger ? "red" : undefined}
              loading={ask.isPending}
              disabled={spec.danger && typed !== name}
              data-submit
            >
              {spec.label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
