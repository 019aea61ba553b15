import { useMemo, useState } from "react";
import type { Task } from "../api/types";
import { dimColumn, monoColumn, openColumn, stateColumn, timeColumn, unsorted } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { useTasks } from "./queries";
import { TaskDetail } from "./TaskDetail";

/** What the host was told to do. */
export function HostTasks({ node }: { node: string }) {
  const listing = useTasks(node);
  const [shown, setShown] = useState<string | null>(null);
  const columns = useMemo<Column<Task>[]>(
    () => [
      openColumn(
        "kind",
        "Task",
        (one) => one.kind,
        (one) => setShown(one.id),
        "minmax(8rem, 1fr)",
      ),
      stateColumn("status", "Status", (one) => one.status),
      monoColumn("about", "Resource", (one) => one.resource_id, "minmax(10rem, 2fr)"),
      unsorted(
        dimColumn("why", "Message", (one) => String(one.failure?.message ?? ""), "minmax(10rem, 2fr)"),
      ),
      timeColumn("at", "When", (one) => one.created_at),
    ],
    [],
  );
  return (
    <TablePanel
      title="Host tasks"
      label="Tasks"
      columns={columns}
      listing={listing}
      empty={<Empty icon="nodes" title="No tasks yet" />}
    >
      {shown && <TaskDetail id={shown} onClose={() => setShown(null)} />}
    </TablePanel>
  );
}
