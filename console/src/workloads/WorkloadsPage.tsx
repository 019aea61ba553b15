import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useProject } from "../app/project";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { ResourceTable } from "../parts/ResourceTable";
import { StateFilter } from "../parts/StateFilter";
import { columns } from "./columns";
import { type InstanceFilter, useInstances } from "./queries";

const STATUSES = ["created", "starting", "running", "stopping", "stopped", "failed"] as const;

export function WorkloadsPage() {
  const project = useProject();
  const navigate = useNavigate();
  const [filter, setFilter] = useState<InstanceFilter>({});
  const listing = useInstances(project.id, filter);
  return (
    <>
      <PageHead
        title="Workloads"
        lead="Apps that run on allocations of this project."
        actions={
          <Button size="xs" onClick={() => void navigate({ to: "/catalog" })}>
            Launch an app
          </Button>
        }
      />
      <ResourceTable
        label="Workloads"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        tools={
          <StateFilter
            label="Status"
            states={STATUSES}
            value={filter.status}
            onChange={(status) => setFilter(status ? { status } : {})}
          />
        }
        empty={
          <Empty
            icon="play"
            title="No workloads yet"
            text="Choose an app from the catalog and the allocations to run it on."
          >
            <PageLink to="/catalog">Go to the catalog</PageLink>
          </Empty>
        }
      />
    </>
  );
}
