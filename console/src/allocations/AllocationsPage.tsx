import { Button, Select } from "@mantine/core";
import { useMemo, useState } from "react";
import type { Allocation } from "../api/types";
import { useProject } from "../app/project";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { nameOf } from "./actions";
import { CreateAllocation } from "./CreateAllocation";
import { type AllocationFilter, useAllocations, useSkus } from "./queries";
import { ofSku } from "./skuFilter";

const STATES: Allocation["state"][] = [
  "requested",
  "provisioning",
  "active",
  "releasing",
  "release_failed",
  "released",
  "failed",
];

const COLUMNS: Column<Allocation>[] = [
  {
    key: "name",
    header: "Name",
    width: "minmax(8rem, 2fr)",
    cell: (one) => <PageLink to={`/allocations/${one.id}`}>{nameOf(one)}</PageLink>,
    value: (one) => `${nameOf(one)} ${one.id}`,
  },
  {
    key: "state",
    header: "State",
    width: "9rem",
    cell: (one) => <StateBadge state={one.state} />,
    value: (one) => one.state,
  },
  {
    key: "sku",
    header: "SKU",
    width: "minmax(7rem, 1fr)",
    cell: (one) => one.sku_name,
    value: (one) => one.sku_name,
  },
  {
    key: "gpus",
    header: "GPUs",
    width: "4.5rem",
    align: "end",
    cell: (one) => one.gpu_count,
    value: (one) => one.gpu_count,
  },
  {
    key: "model",
    header: "GPU",
    width: "minmax(7rem, 1.5fr)",
    cell: (one) => <span className="dim">{one.gpu_model}</span>,
    value: (one) => one.gpu_model,
  },
  {
    key: "reason",
    header: "What to know",
    width: "minmax(9rem, 3fr)",
    cell: (one) => <span className="dim">{one.failure?.message ?? one.phase ?? ""}</span>,
    value: (one) => one.failure?.message ?? one.phase,
  },
  {
    key: "since",
    header: "Since",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.state_since} />,
    value: (one) => one.state_since,
  },
];

export function AllocationsPage() {
  const project = useProject();
  const [filter, setFilter] = useState<AllocationFilter>({});
  const [sku, setSku] = useState<string | null>(null);
  const [creating, setCreating] = useState(false);
  const listing = useAllocations(project.id, filter);
  const picked = useMemo(() => ofSku(listing, sku), [listing, sku]);
  const skus = useSkus();
  const may = project.allowed_actions.includes("allocation_create");
  return (
    <>
      <PageHead
        title="Allocations"
        lead="GPUs that this project holds: whole hosts, or slices of them."
        actions={
          may && (
            <Button
              size="xs"
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => setCreating(true)}
              data-action="allocation_create"
            >
              Allocate GPUs
            </Button>
          )
        }
      />
      <ResourceTable
        label="Allocations"
        columns={COLUMNS}
        listing={picked}
        rowId={(one) => one.id}
        tools={
          <>
            <Select
              size="xs"
              w={150}
              placeholder="Any state"
              aria-label="State"
              clearable
              data={STATES.map((state) => ({ value: state, label: labelOf(state) }))}
              value={filter.state ?? null}
              onChange={(state) => setFilter(state ? { state: state as Allocation["state"] } : {})}
            />
            <Select
              size="xs"
              w={150}
              placeholder="Any SKU"
              aria-label="SKU"
              clearable
              searchable
              data={(skus.data?.items ?? []).map((one) => one.name)}
              value={sku}
              onChange={setSku}
            />
          </>
        }
        empty={
          <Empty
            icon="cpu"
            title={filter.state || sku ? "No allocation is like that" : "No GPUs yet"}
            text={
              filter.state || sku
                ? undefined
                : "Allocate some; they are yours alone until you release them, and wiped after that."
            }
          />
        }
      />
      {creating && <CreateAllocation project={project} onClose={() => setCreating(false)} />}
    </>
  );
}
