import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { type Listing, PAGE_SIZE, useListing } from "../api/pages";
import type { InstanceMember } from "../api/types";

export function useMembers(
  project_id: string,
  instance_id: string,
  removed = false,
): Listing<InstanceMember> {
  return useListing(keys.of("instances", project_id, instance_id, "members", { removed }), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/instances/{instance_id}/members", {
        params: { path: { project_id, instance_id }, query: { limit: 2 * PAGE_SIZE, after, removed } },
        signal,
      }),
    ),
  );
}

/** As people and the command line call it: "worker/3". */
export function memberName(member: InstanceMember | undefined): string | undefined {
  return member && `${member.component_key}/${member.ordinal}`;
}

/** A probe in one line, as a host last said. */
export function probeLine(probe: InstanceMember["probes"][number]): string {
  const answer = probe.answer ? `: ${probe.answer}` : "";
  return `${probe.key} (${probe.purpose.join(", ")}) ${probe.status}${answer}`;
}
