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
    <Panel title="Running" flush aside={<PageLink to="/workloads">All workloads</PageLink>}>
      <ResourceTable
        label="Running workloads"
        plain
        columns={SHOWN}
        listing={listing}
        rowId={(one) => one.id}
        empty={
          <Empty
            icon="play"
            title="No running workloads"
            text="Choose an app and the allocations to run it on."
          >
            <PageLink to="/catalog">Go to the catalog</PageLink>
          </Empty>
        }
      />
    </Panel>
  );
}
