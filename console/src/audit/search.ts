// What is looked for in the audit trail is in the address, so that a link shows others the same rows.
export type Reach = "project" | "tenant" | "platform";

/** How a request came. */
export const SOURCES = ["api", "console", "cli", "controller", "agent", "system"] as const;
export type AuditSource = (typeof SOURCES)[number];

/** What came of a request; failed: accepted, and did not succeed. */
export const OUTCOMES = ["done", "denied", "failed"] as const;
export type AuditOutcome = (typeof OUTCOMES)[number];

export interface AuditSearch {
  actor?: string;
  action?: string;
  correlation?: string;
  resource?: string;
  outcome?: AuditOutcome;
  source?: AuditSource;
  /** As a field of the page has it: local time, no zone. */
  since?: string;
  before?: string;
}

const FIELDS = [
  "actor",
  "action",
  "correlation",
  "resource",
  "outcome",
  "source",
  "since",
  "before",
] as const;

/** Of an address that anybody may have typed. */
export function searchOf(raw: Record<string, unknown>): AuditSearch {
  const found: Record<string, string> = {};
  for (const field of FIELDS) {
    const value = raw[field];
    if (typeof value === "string" && value !== "") found[field] = value;
    if (typeof value === "number") found[field] = String(value);
  }
  if (!OUTCOMES.some((one) => one === found.outcome)) delete found.outcome;
  if (!SOURCES.some((one) => one === found.source)) delete found.source;
  return found as AuditSearch;
}

/** The same for the API. */
export function wantedOf(search: AuditSearch) {
  return {
    ...(search.actor ? { actor_id: search.actor } : {}),
    ...(search.action ? { action: search.action } : {}),
    ...(search.correlation ? { correlation_id: search.correlation } : {}),
    ...(search.resource ? { resource_id: search.resource } : {}),
    ...(search.outcome ? { outcome: search.outcome } : {}),
    ...(search.source ? { source: search.source } : {}),
    ...momentOf("since", search.since),
    ...momentOf("before", search.before),
  };
}

const WHOLE = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

function momentOf(name: "since" | "before", local: string | undefined) {
  const moment = local && WHOLE.test(local) ? new Date(local) : null;
  return moment && !Number.isNaN(moment.getTime()) ? { [name]: moment.toISOString() } : {};
}
