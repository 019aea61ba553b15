import type { Node } from "../api/types";

/** Whether new work may come to the node, as one word. */
export function schedulingStateOf(one: Node): string {
  if (one.draining) return one.drained ? "drained" : "draining";
  if (one.drain_at) return "drain_planned";
  if (one.cordoned) return "cordoned";
  return one.schedulable ? "schedulable" : "not_schedulable";
}
