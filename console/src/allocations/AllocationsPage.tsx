import { Button, Select } from "@mantine/core";
import { useMemo, useState } from "react";
import type { Allocation } from "../api/types";
import { useProject } from "../app/project";
import { dimColumn, linkColumn, textColumn } from "../parts/columns";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateFilter } from "../parts/StateFilter";
import { nameOf } from "./actions";
import { CreateAllocation } from "./CreateAllocation";
import { gpusColumn, HEALTH, SINCE, STATE, statusDetailOf } from "./columns";
import { type AllocationFilter, useAllocations } from "./queries";
import { ofSku } from "./skuFilter";
import { useSkus } from "./skus";

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
  linkColumn(
    "name",
    "Name",
    nameOf,
    { to: (one) => `/allocations/${one.id}` },
    "minmax(8rem, 2fr)",
    (one) => `${nameOf(one)} ${one.id}`,
  ),
  STATE,
  HEALTH,
  textColumn("sku", "SKU", (one) => one.sku_name, "minmax(6rem, 1fr)"),
  gpusColumn("3rem"),
  dimColumn("model", "GPU", (one) => one.gpu_model, "minmax(5.5rem, 1fr)"),
  dimColumn("reason", "Status detail", statusDetailOf, "minmax(8rem, 4fr)"),
  SINCE,
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
        lead="The project's GPUs: whole hosts, or slices of them."
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
            <StateFilter
              label="State"
              states={STATES}
              value={filter.state}
              onChange={(state) => setFilter(state ? { state } : {})}
              width={150}
            />
            <Select
              size="xs"
              w={150}
              placeholder="Any SKU"
              aria-label="SKU"
              clearable
              searchable
              data={(skus.data ?? []).map((one) => one.name)}
              value={sku}
              onChange={setSku}
            />
          </>
        }
        empty={
          <Empty
            icon="cpu"
            title={filter.state || sku ? "No matching allocations" : "No GPUs yet"}
            text={
              filter.state || sku
                ? undefined
                : "Allocate some. Nobody else can use them until you release them; then they are wiped."
            }
          />
        }
      />
      {creating && <CreateAllocation project={project} onClose={() => setCreating(false)} />}
    </>
  );
}
