import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import type { TimelineEvent } from "../api/types";

const MOST = 500;
const MOST_PAGES = 10;

/** All that is kept of what happened to it, oldest first. Live events about it make this stale, so it grows as it happens. */
export function useTimeline(project_id: string, instance_id: string) {
  return useQuery({
    queryKey: keys.of("instances", project_id, instance_id, "timeline"),
    queryFn: async ({ signal }) => {
      const found: TimelineEvent[] = [];
      let after: string | undefined;
      for (let page = 0; page < MOST_PAGES; page++) {
        const { items } = await body(
          api.GET("/api/v1/projects/{project_id}/instances/{instance_id}/timeline", {
            params: { path: { project_id, instance_id }, query: { limit: MOST, after } },
            signal,
          }),
        );
        found.push(...items);
        after = items.at(-1)?.id;
        if (items.length < MOST) break;
      }
      return found;
    },
  });
}
