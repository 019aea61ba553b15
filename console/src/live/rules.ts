// What an event makes stale. An event says that something changed; what it is now is read from the API.
import type { QueryKey } from "@tanstack/react-query";
import { keys, type Noun } from "../api/keys";
import type { Event } from "../api/types";

const NOUN_OF: Record<string, Noun> = {
  access_credential: "credentials",
  allocation: "allocations",
  app: "apps",
  app_version: "apps",
  artifact: "artifacts",
  entitlement: "catalog",
  instance: "instances",
  member: "members",
  node: "nodes",
  operation: "operations",
  publish_intent: "publish-intents",
  receipt: "receipts",
  tenant: "tenants",
};

/** Kinds whose rows are in long lists: only the row itself is read again, and put in its place. */
export const PATCHED: ReadonlySet<Noun> = new Set<Noun>(["instances", "operations", "allocations"]);

export function nounOf(event: Event): Noun | undefined {
  return NOUN_OF[event.type.split(".")[0] ?? ""];
}

/** Keys that are stale after the event, beside the row of the thing itself in the lists of PATCHED. */
export function staleAfter(event: Event, scope: string): QueryKey[] {
  const noun = nounOf(event);
  if (!noun) return [];
  const found: QueryKey[] = [keys.one(noun, scope, event.subject)];
  // Lists over all projects are read again: which row of them it is, only the API knows.
  if (!PATCHED.has(noun) || scope === "platform") found.push(keys.lists(noun, scope));
  const instance = event.data.instance_id;
  if (typeof instance === "string") found.push(keys.one("instances", scope, instance));
  if (noun === "receipts" || noun === "members") found.push(keys.lists("operations", scope));
  if (noun === "allocations") {
    found.push(
      [...keys.all("allocations", scope), "overview"],
      keys.all("quota", scope),
      keys.all("catalog", scope),
    );
  }
  if (noun === "artifacts") found.push(keys.lists("publish-intents", scope)); // one became an artifact
  if (noun === "apps") found.push(keys.all("catalog", scope));
  return found;
}
