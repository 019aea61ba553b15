import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import { CreateButton } from "../actions/CreateButton";
import { actionsColumn } from "../actions/columns";
import type { Sku } from "../api/types";
import { countColumn, dimColumn, labelColumn, textColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { money } from "../parts/money";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { RowActions } from "../parts/RowActions";
import { StateBadge } from "../parts/StateBadge";
import { skuChangeSpec, skuCreateSpec, skuOfferSpec } from "./actions";
import { useSkuList } from "./queries";

export function Skus({ may }: { may: boolean }) {
  const listing = useSkuList();
  const columns = useMemo<Column<Sku>[]>(
    () => [
      textColumn("name", "Name", (one) => one.name, "minmax(8rem, 1fr)"),
      labelColumn("shape", "Shape", (one) => one.shape, "7rem"),
      dimColumn("model", "GPU", (one) => one.gpu_model, "minmax(10rem, 2fr)"),
      textColumn(
        "counts",
        "GPUs",
        (one) => one.gpu_counts.join(" "),
        "7rem",
        (one) => one.gpu_counts.join(", "),
      ),
      countColumn(
        "price",
        "Per GPU-hour",
        (one) => one.price_per_gpu_hour_minor,
        "7.5rem",
        (one) => money(one.price_per_gpu_hour_minor, one.currency),
      ),
      labelColumn("wipe", "Wipe", (one) => one.wipe_grade, "7rem"),
      textColumn(
        "offered",
        "Offered",
        (one) => String(one.offered),
        "8rem",
        (one) => (
          <StateBadge state={one.offered ? "offered" : "not_offered"} tone={one.offered ? "good" : "quiet"} />
        ),
      ),
      actionsColumn(
        (one) =>
          may && (
            <RowActions>
              <ActionButton spec={skuChangeSpec(one)} resource={one} name={one.name} size="compact-xs" />
              <ActionButton
                spec={skuOfferSpec(!one.offered)}
                resource={one}
                name={one.name}
                size="compact-xs"
              />
            </RowActions>
          ),
        "13rem",
      ),
    ],
    [may],
  );
  return (
    <ResourceTable
      label="SKUs"
      columns={columns}
      listing={listing}
      rowId={(one) => one.id}
      tools={may && <CreateButton spec={skuCreateSpec} resource={null} name="the platform" />}
      empty={
        <Empty
          icon="cpu"
          title="No SKUs yet"
          text="A SKU defines a shape, a GPU model, GPU counts and a price."
        />
      }
    />
  );
}
