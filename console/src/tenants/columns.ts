// What tables show of tenants, and of what belongs to them.
import { codeColumn, linkColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";

/** Of tenants, projects, apps and entitlements to them. */
export function slugColumn<T extends { slug: string }>(width = "minmax(7rem, 1fr)"): Column<T> {
  return codeColumn("slug", "Slug", (one) => one.slug, width);
}

/** Whose something is, by its id: the API does not name it there. */
export function tenantColumn<T extends { tenant_id: string }>(header: string, width: string): Column<T> {
  const target = { to: (one: T) => `/ops/tenants/${one.tenant_id}` };
  return linkColumn("tenant", header, (one) => one.tenant_id, target, width);
}
