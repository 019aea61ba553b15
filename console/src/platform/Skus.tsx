import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { Sku } from "../api/types";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { money } from "../parts/money";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { skuCreateSpec, skuOfferSpec, skuPriceSpec } from "./actions";
import classes from "./Platform.module.css";
import { useSkuList } from "./queries";

export function Skus({ may }: { may: boolean }) {
  const listing = useSkuList();
  const columns = useMemo<Column<Sku>[]>(
    () => [
      {
        key: "name",
        header: "Name",
        width: "minmax(8rem, 1fr)",
        cell: (one) => one.name,
        value: (one) => one.name,
      },
      {
        key: "shape",
        header: "Shape",
        width: "7rem",
        cell: (one) => labelOf(one.shape),
        value: (one) => one.shape,
      },
      {
        key: "model",
        header: "GPU",
        width: "minmax(10rem, 2fr)",
        cell: (one) => <span className="dim">{one.gpu_model}</span>,
        value: (one) => one.gpu_model,
      },
      {
        key: "counts",
        header: "GPUs",
        width: "7rem",
        cell: (one) => one.gpu_counts.join(", "),
        value: (one) => one.gpu_counts.join(" "),
      },
      {
        key: "price",
        header: "GPU and hour",
        width: "7.5rem",
        align: "end",
        cell: (one) => money(one.price_per_gpu_hour_minor, one.currency),
        value: (one) => one.price_per_gpu_hour_minor,
      },
      {
        key: "offered",
        header: "Offered",
        width: "8rem",
        cell: (one) => (
          <StateBadge state={one.offered ? "offered" : "not_offered"} tone={one.offered ? "good" : "quiet"} />
        ),
        value: (one) => String(one.offered),
      },
      {
        key: "actions",
        header: "Actions",
        width: "13rem",
        cell: (one) =>
          may && (
            <span className={classes.actions}>
              <ActionButton spec={skuPriceSpec} resource={one} name={one.name} size="compact-xs" />
              <ActionButton
                spec={skuOfferSpec(!one.offered)}
                resource={one}
                name={one.name}
                size="compact-xs"
              />
            </span>
          ),
      },
    ],
    [may],
  );
  return (
    <ResourceTable
      label="SKUs"
      columns={columns}
      listing={listing}
      rowId={(one) => one.id}
      tools={
        may && (
          <ActionButton
            spec={skuCreateSpec}
            resource={null}
            name="the platform"
            icon={<Icon name="plus" size={14} />}
          />
        )
      }
      empty={
        <Empty
          icon="cpu"
          title="Nothing is offered yet"
          text="A SKU is a shape, a GPU model, the counts one may ask for, and a price."
        />
      }
    />
  );
}
