// Deletion of tenants and projects: asked for, undone until its date, and what is taken along before.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import type { Project, Tenant } from "../api/types";
import { refetchAfter } from "./actions";

const ALL =
  "Until the grace period ends, you can undo the deletion. Then everything in it is removed for good.";

export const tenantDeleteSpec: ActionSpec<Tenant> = {
  label: "Delete",
  danger: true,
  description: () =>
    `Its users and service accounts are signed out now. ${ALL} Export first what you want to keep.`,
  run: (one) =>
    refetchAfter(
      body(api.DELETE("/api/v1/tenants/{tenant_id}", { params: { path: { tenant_id: one.id } } })),
    ),
  done: "Deletion scheduled",
};

export const tenantUndeleteSpec: ActionSpec<Tenant> = {
  label: "Undo deletion",
  primary: true,
  description: () => "Its users and service accounts can sign in again. Nothing was removed.",
  run: (one) =>
    refetchAfter(
      body(api.POST("/api/v1/tenants/{tenant_id}/undelete", { params: { path: { tenant_id: one.id } } })),
    ),
  done: "Deletion undone",
};

export const projectDeleteSpec: ActionSpec<Project> = {
  label: "Delete",
  danger: true,
  description: () =>
    `Nothing in it can be changed from now on, and its service accounts are refused. ${ALL} Export first what you want to keep.`,
  run: (one) =>
    refetchAfter(
      body(api.DELETE("/api/v1/projects/{project_id}", { params: { path: { project_id: one.id } } })),
    ),
  done: "Deletion scheduled",
};

export const projectUndeleteSpec: ActionSpec<Project> = {
  label: "Undo deletion",
  primary: true,
  description: () => "Its service accounts work again. Nothing was removed.",
  run: (one) =>
    refetchAfter(
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
