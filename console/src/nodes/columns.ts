import { linkColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";

/** The node that something is on, by its id: the API does not name it there. */
export function nodeColumn<T extends { node_id: string }>(): Column<T> {
  const target = { to: (one: T) => `/ops/nodes/${one.node_id}` };
  return linkColumn("node", "Node", (one) => one.node_id, target, "minmax(8rem, 1fr)");
}
