// Deletion of tenants and projects: asked for, undone until its date, and what is taken along before.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import type { Project, Tenant } from "../api/types";
import { told } from "./actions";

const ALL =
  "Everything in it is removed after the grace period, and cannot be brought back then. Until then it can be undone.";

export const tenantDeleteSpec: ActionSpec<Tenant> = {
  label: "Delete",
  danger: true,
  says: () => `Its people and programs are signed out now. ${ALL} Export it first to keep what it holds.`,
  run: (one) =>
    told(body(api.DELETE("/api/v1/tenants/{tenant_id}", { params: { path: { tenant_id: one.id } } }))),
  done: "Deletion scheduled",
};

export const tenantUndeleteSpec: ActionSpec<Tenant> = {
  label: "Undo deletion",
  primary: true,
  says: () => "Its people and programs can sign in again, and everything is as it was.",
  run: (one) =>
    told(body(api.POST("/api/v1/tenants/{tenant_id}/undelete", { params: { path: { tenant_id: one.id } } }))),
  done: "Deletion undone",
};

export const projectDeleteSpec: ActionSpec<Project> = {
  label: "Delete",
  danger: true,
  says: () =>
    `Nothing in it can be changed from now on, and its service accounts stop. ${ALL} Export it first to keep what it holds.`,
  run: (one) =>
    told(body(api.DELETE("/api/v1/projects/{project_id}", { params: { path: { project_id: one.id } } }))),
  done: "Deletion scheduled",
};

export const projectUndeleteSpec: ActionSpec<Project> = {
  label: "Undo deletion",
  primary: true,
  says: () => "Its service accounts work again, and everything is as it was.",
  run: (one) =>
    told(
      body(api.POST("/api/v1/projects/{project_id}/undelete", { params: { path: { project_id: one.id } } })),
    ),
  done: "Deletion undone",
};

export function tenantExport(one: Tenant): string {
  return `/api/v1/tenants/${one.id}/export`;
}

export function projectExport(one: Project): string {
  return `/api/v1/projects/${one.id}/export`;
}

/** What a tenant or project is, in one word. */
export function stateOfPlace(one: { disabled: boolean; delete_after: string | null }): string {
  if (one.delete_after) return "deleting";
  return one.disabled ? "disabled" : "active";
}
