import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { ResourceTable } from "../parts/ResourceTable";
import { columns } from "../workloads/columns";
import { useInstances } from "../workloads/queries";

const SHOWN = columns.filter((column) => column.key !== "reason" && column.key !== "status");

export function Running({ project }: { project: string }) {
  const listing = useInstances(project, { status: "running" });
  return (
    <Panel title="Runs" flush aside={<PageLink to="/workloads">All workloads</PageLink>}>
      <ResourceTable
        label="Running workloads"
        plain
        columns={SHOWN}
        listing={listing}
        rowId={(one) => one.id}
        empty={
          <Empty
            icon="play"
            title="Nothing runs"
            text="Choose an app, and the allocations that it shall live on."
          >
            <PageLink to="/catalog">To the catalog</PageLink>
          </Empty>
        }
      />
    </Panel>
  );
}
