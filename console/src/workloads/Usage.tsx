// What the app has counted for this project: totals, and the records that they are made of.
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";
import type { Instance, UsageRecord, UsageTotal } from "../api/types";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { labelOf } from "../parts/states";
import { wholeListing } from "../parts/wholeListing";

const TOTALS: Column<UsageTotal>[] = [
  { key: "metric", header: "Metric", width: "minmax(9rem, 2fr)", cell: (one) => labelOf(one.metric) },
  {
    key: "quantity",
    header: "Amount",
    width: "minmax(8rem, 1fr)",
    align: "end",
    cell: (one) => `${one.quantity.toLocaleString("en")} ${one.unit}`,
  },
  { key: "records", header: "Records", width: "6rem", align: "end", cell: (one) => one.records },
];

const RECORDS: Column<UsageRecord>[] = [
  { key: "metric", header: "Metric", width: "minmax(9rem, 2fr)", cell: (one) => labelOf(one.metric) },
  { key: "subject", header: "Subject", width: "minmax(8rem, 1fr)", cell: (one) => one.subject ?? "–" },
  {
    key: "quantity",
    header: "Amount",
    width: "minmax(8rem, 1fr)",
    align: "end",
    cell: (one) => `${one.quantity.toLocaleString("en")} ${one.unit}`,
  },
  { key: "ended", header: "Until", width: "6rem", cell: (one) => <RelativeTime at={one.ended_at} /> },
];

/** Nothing, where the app has counted nothing yet. */
export function Usage({ instance }: { instance: Instance }) {
  const [each, setEach] = useState(false);
  const { project_id, id: instance_id } = instance;
  const totals = useQuery({
    queryKey: keys.of("instances", project_id, instance_id, "usage"),
    queryFn: () =>
      body(
        api.GET("/api/v1/projects/{project_id}/app-usage/totals", {
          params: { path: { project_id }, query: { instance_id } },
        }),
      ).then((answer) => answer.items),
  });
  const records = useListing<UsageRecord>(
    keys.of("instances", project_id, instance_id, "usage-records"),
    (after, signal) =>
      body(
        api.GET("/api/v1/projects/{project_id}/app-usage", {
          params: { path: { project_id }, query: { instance_id, limit: PAGE_SIZE, after } },
          signal,
        }),
      ),
    each,
  );
  if (!totals.data?.length) return null;
  return (
    <Panel
      title={each ? "Usage records" : "Usage in the last 31 days"}
      flush
      aside={
        <Button size="compact-xs" variant="default" onClick={() => setEach(!each)}>
          {each ? "Show totals" : "Show records"}
        </Button>
      }
    >
      {each ? (
        <ResourceTable
          plain
          label="Usage records"
          columns={RECORDS}
          listing={records}
          rowId={(one) => one.id}
          empty={null}
        />
      ) : (
        <ResourceTable
          plain
          label="Usage totals"
          columns={TOTALS}
          listing={wholeListing(totals)}
          rowId={(one) => one.metric}
          empty={null}
        />
      )}
    </Panel>
  );
}
