import {
  Button,
  Group,
  Modal,
  MultiSelect,
  NumberInput,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { Project, Sku } from "../api/types";
import { useSshKeys } from "../credentials/queries";
import { Loaded } from "../parts/Loaded";
import { money } from "../parts/money";
import { notify } from "../parts/notify";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import { useQuota } from "../tenants/quota";
import { isolationNote, shapeWords } from "./shape";
import { useSkus } from "./skus";

/** Asks for GPUs. Whether there are any, and whether the quota allows it, the API decides; a refusal is shown here. */
export function CreateAllocation({ project, onClose }: { project: Project; onClose: () => void }) {
  const skus = useSkus();
  return (
    <Modal
      opened
      onClose={onClose}
      title="Allocate GPUs"
      size="md"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Loaded query={skus}>
        {(all) => <Form project={project} skus={all.filter((sku) => sku.offered)} onClose={onClose} />}
      </Loaded>
    </Modal>
  );
}

interface AllocationRequest {
  sku: string | null;
  gpus: string | null;
  count: number;
  name: string;
  keys: string[];
}

function Form({ project, skus, onClose }: { project: Project; skus: Sku[]; onClose: () => void }) {
  const navigate = useNavigate();
  const sshKeys = useSshKeys();
  const [request, setRequest] = useState<AllocationRequest>({
    sku: skus[0]?.name ?? null,
    gpus: null,
    count: 1,
    name: "",
    keys: [],
  });
  const sku = skus.find((one) => one.name === request.sku);
  const gpus = Number(request.gpus ?? sku?.gpu_counts[0] ?? 1);
  const ask = useMutation({
    mutationFn: () =>
      invalidateAfter(
        body(
          api.POST("/api/v1/projects/{project_id}/allocations", {
            params: { path: { project_id: project.id } },
            body: {
              sku: request.sku ?? "",
              gpu_count: gpus,
              count: request.count,
              name: request.name.trim() || null,
              ssh_key_ids: request.keys.length ? request.keys : null,
            },
          }),
        ),
        ["allocations", project.id],
        ["quota", project.id],
      ),
    onSuccess: (batch) => {
      notify(
        batch.items.length === 1
          ? "GPUs claimed. The host is being prepared"
          : `${batch.items.length} allocations claimed`,
      );
      onClose();
      const only = batch.items.length === 1 ? batch.items[0] : undefined;
      if (only) void navigate({ to: `/allocations/${only.id}`, search: (before: object) => before } as never);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask.mutate();
  };
  const change = (part: Partial<AllocationRequest>) => setRequest((before) => ({ ...before, ...part }));
  if (skus.length === 0)
    return <Text size="sm">No SKU is offered. Ask an administrator of the platform to offer one.</Text>;
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        <Select
          label="SKU"
          description={
            sku && `${sku.gpu_model}, ${shapeWords(sku.shape)}. ${isolationNote(sku.shape)}`.trim()
          }
          data={skus.map((one) => ({ value: one.name, label: one.name }))}
          value={request.sku}
          allowDeselect={false}
          onChange={(next) => change({ sku: next, gpus: null })}
          data-field="sku"
        />
        <Select
          label="GPUs per allocation"
          data={(sku?.gpu_counts ?? []).map(String)}
          value={String(gpus)}
          allowDeselect={false}
          onChange={(next) => change({ gpus: next })}
          data-field="gpu_count"
        />
        <NumberInput
          label="Number of allocations"
          description="All of them or none."
          min={1}
          max={256}
          allowDecimal={false}
          value={request.count}
          onChange={(next) => change({ count: Number(next) || 1 })}
          data-field="count"
        />
        <TextInput
          label="Name"
          description={
            request.count > 1
              ? "-1, -2 … is appended."
              : "Lower-case letters, digits and dashes. You can use it instead of the ID."
          }
          value={request.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          data-field="name"
        />
        {(sshKeys.data ?? []).length > 0 && (
          <MultiSelect
            label="SSH keys"
            description="Your stored keys that can log in while the allocation is active."
            data={(sshKeys.data ?? []).map((key) => ({ value: key.id, label: key.name }))}
            value={request.keys}
            onChange={(next) => change({ keys: next })}
          />
        )}
        {sku && <Price sku={sku} gpus={gpus * request.count} project={project} />}
        {ask.error && <ProblemPanel problem={explained(ask.error)} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button type="submit" loading={ask.isPending} data-submit>
            Allocate
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Price({ sku, gpus, project }: { sku: Sku; gpus: number; project: Project }) {
  const quota = useQuota(project.id);
  const limit = quota.data?.gpu_limit;
  return (
    <Text size="sm" c="dimmed">
      {gpus} GPUs at {money(sku.price_per_gpu_hour_minor, sku.currency)} an hour each:{" "}
      <strong>{money(gpus * sku.price_per_gpu_hour_minor, sku.currency)} an hour</strong>.
      {quota.data && limit !== null && ` The project uses ${quota.data.gpus_used} of ${limit} GPUs.`}
    </Text>
  );
}
