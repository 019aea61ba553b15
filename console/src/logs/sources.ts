// Whose lines are read. A log is of an allocation: members that share one have the same lines. Pure.
import type { InstanceMember } from "../api/types";
import { memberName } from "../workloads/members";

/** Each read is a task for a host; more at once than this makes nobody wiser. */
export const MOST_READ = 16;
/** A browser has six connections to a server of HTTP/1.1, and the rest of the page needs some. */
export const MOST_FOLLOWED = 3;

export interface LogSource {
  /** The member that the API is asked for. */
  member: string;
  /** Of all members whose lines these are: "controller/0, worker/1". */
  name: string;
}

/** One source for each allocation, with failed members first. The eldest member of an allocation has the longest log. */
export function sourcesOf(members: InstanceMember[]): LogSource[] {
  const places = new Map<string, InstanceMember[]>();
  for (const one of members.toSorted((some, other) => rank(some) - rank(other)))
    places.set(one.allocation_id, [...(places.get(one.allocation_id) ?? []), one]);
  return [...places.values()].map((sharing) => {
    const eldest = sharing.reduce((one, other) => (other.created_at < one.created_at ? other : one));
    return { member: eldest.id, name: sharing.map((one) => memberName(one)).join(", ") };
  });
}

function rank(member: InstanceMember): number {
  return member.status === "failed" ? 0 : 1;
}
