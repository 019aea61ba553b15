// Roles of people in the project and in the tenant.
import { Select } from "@mantine/core";
import type { ActionFormProps, ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import { useRest } from "../api/pages";
import { invalidateAfter } from "../api/stale";
import type { Member, Project, Tenant } from "../api/types";
import { useTenantUsers } from "./queries";

export const ROLES = ["project_admin", "project_member", "project_viewer"] as const;
type ProjectRole = (typeof ROLES)[number];

const ROLE = {
  type: "string",
  enum: [...ROLES],
  default: "project_member",
  "x-ui": { help: "Administrators manage members and apps, members use GPUs, viewers read." },
};

/** A person of the tenant, found by name or e-mail. */
function PersonForm({
  tenantId,
  values,
  onChange,
}: { tenantId: string } & Pick<ActionFormProps<unknown>, "values" | "onChange">) {
  const users = useTenantUsers(tenantId);
  useRest(users);
  return (
    <Select
      label="Person"
      required
      searchable
      placeholder="Name or e-mail"
      nothingFoundMessage="No user of the tenant matches"
      data={users.rows
        .filter((one) => !one.disabled)
        .map((one) => ({ value: one.id, label: `${one.name} (${one.email})` }))}
      value={(values.user_id as string | undefined) ?? null}
      onChange={(next) => onChange({ ...values, user_id: next })}
      data-field="user_id"
    />
  );
}

function roleSet(project_id: string, user_id: string, role: ProjectRole) {
  return invalidateAfter(
    body(
      api.PUT("/api/v1/projects/{project_id}/members/{user_id}", {
        params: { path: { project_id, user_id } },
        body: { role },
      }),
    ),
    ["team", project_id],
  );
}

export const memberAddSpec: ActionSpec<Project> = {
  label: "Add a member",
  primary: true,
  Extra: ({ resource, values, onChange }) => (
    <PersonForm tenantId={resource.tenant_id} values={values} onChange={onChange} />
  ),
  form: { type: "object", required: ["role"], properties: { role: ROLE } },
  run: (project, values) => roleSet(project.id, String(values.user_id ?? ""), values.role as ProjectRole),
  done: "Added",
};

export const memberChangeSpec = (project: Project): ActionSpec<Member> => ({
  label: "Change role",
  form: { type: "object", required: ["role"], properties: { role: ROLE } },
  run: (one, values) => roleSet(project.id, one.id, values.role as ProjectRole),
  done: "Role changed",
});

export const memberRemoveSpec = (project: Project): ActionSpec<Member> => ({
  label: "Remove",
  danger: true,
  description: () => "Ends the member's role, certificates and grants in this project.",
  run: (one) =>
    invalidateAfter(
      body(
        api.DELETE("/api/v1/projects/{project_id}/members/{user_id}", {
          params: { path: { project_id: project.id, user_id: one.id } },
        }),
      ),
      ["team", project.id],
    ),
  done: "Removed",
});

export const tenantAdminAddSpec: ActionSpec<Tenant> = {
  label: "Add an administrator",
  primary: true,
  description: () => "Administrators of a tenant may do everything in all of its projects.",
  Extra: ({ resource, values, onChange }) => (
    <PersonForm tenantId={resource.id} values={values} onChange={onChange} />
  ),
  run: (tenant, values) =>
    invalidateAfter(
      body(
        api.PUT("/api/v1/tenants/{tenant_id}/members/{user_id}", {
          params: { path: { tenant_id: tenant.id, user_id: String(values.user_id ?? "") } },
          body: { role: "tenant_admin" },
        }),
      ),
      ["team", tenant.id],
    ),
  done: "Added",
};

export const tenantAdminRemoveSpec = (tenant: Tenant): ActionSpec<Member> => ({
  label: "Remove",
  danger: true,
  description: () => "The user keeps their roles in individual projects.",
  run: (one) =>
    invalidateAfter(
      body(
        api.DELETE("/api/v1/tenants/{tenant_id}/members/{user_id}", {
          params: { path: { tenant_id: tenant.id, user_id: one.id } },
        }),
      ),
      ["team", tenant.id],
    ),
  done: "Removed",
});
