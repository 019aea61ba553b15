// What the audit page reads: the trail of the project, of the tenant, or of the platform; and events of one request.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { type Listing, PAGE_SIZE, useListing } from "../api/pages";
import type { AuditRecord, EventPage, Project } from "../api/types";
import { type AuditSearch, type Reach, wantedOf } from "./search";

export function useAudit(reach: Reach, project: Project, search: AuditSearch): Listing<AuditRecord> {
  const wanted = wantedOf(search);
  const scope = reach === "platform" ? "platform" : reach === "tenant" ? project.tenant_id : project.id;
  return useListing(keys.list("audit", scope, { reach, ...wanted }), (after, signal) => {
    const query = { limit: PAGE_SIZE, after, ...wanted };
    if (reach === "platform") return body(api.GET("/api/v1/audit", { params: { query }, signal }));
    if (reach === "tenant") {
      return body(
        api.GET("/api/v1/tenants/{tenant_id}/audit", {
          params: { path: { tenant_id: project.tenant_id }, query },
          signal,
        }),
      );
    }
    return body(
      api.GET("/api/v1/projects/{project_id}/audit", {
        params: { path: { project_id: project.id }, query },
        signal,
      }),
    );
  });
}

/** For how many days records are kept, by what they are, such as audit; undefined until it is known. */
export function useRetention(): Record<string, number> | undefined {
  return useQuery({
    queryKey: ["retention"],
    queryFn: async ({ signal }) => {
      const answer = await body(api.GET("/api/v1/retention", { signal }));
      return Object.fromEntries(answer.items.map((one) => [one.name, one.days]));
    },
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
}

/** How far back events are looked through for a correlation id. */
const TAIL = 500;

export function useEventsOf(project_id: string, correlation: string | undefined) {
  return useQuery({
    queryKey: keys.list("events", project_id, { correlation }),
    queryFn: async ({ signal }) => {
      const answer = await body(
        api.GET("/api/v1/projects/{project_id}/events", {
          params: { path: { project_id }, query: { tail: TAIL, limit: TAIL } },
          signal,
        }),
      );
      const page = answer as EventPage; // its other form is a stream, which we did not ask for
      return page.items.filter((event) => event.correlation_id === correlation).toReversed();
    },
    enabled: correlation !== undefined,
  });
}
