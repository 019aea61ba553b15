// What a person's roles are called. Used to choose which pages to offer, never to decide what may be done: the API
// does that, and says it in allowed_actions and in its refusals.
import type { Me } from "./types";

export function isOperator(me: Me): boolean {
  return me.roles.some((one) => one.tenant_id === null && one.project_id === null);
}

/** The tenants where somebody has a role in the tenant as a whole. */
export function tenantsOf(me: Me): string[] {
  const ids = me.roles.filter((one) => one.project_id === null).map((one) => one.tenant_id);
  return [...new Set(ids.filter((id) => id !== null))];
}
