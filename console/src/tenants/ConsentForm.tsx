import { MultiSelect, Stack } from "@mantine/core";
import type { ActionFormProps } from "../actions/spec";
import type { TenantOffer } from "./consentActions";
import { useTenantProjects } from "./queries";

/** What the controller may do, and a choice of where. */
export function ConsentForm({ resource, values, onChange }: ActionFormProps<TenantOffer>) {
  const { offer, tenant_id } = resource;
  const projects = useTenantProjects(tenant_id);
  return (
    <Stack gap="sm">
      <p>
        {offer.display_name} is served by {offer.service_accounts.join(", ")} of its publisher. The controller
        may:
      </p>
      <ul>
        {offer.permissions.map((one) => (
          <li key={one.name}>{one.description}</li>
        ))}
      </ul>
      <MultiSelect
        label="Projects"
        description="Empty: all projects of the tenant, later ones too."
        data={projects.rows.map((one) => ({ value: one.id, label: one.name }))}
        value={(values.project_ids as string[] | undefined) ?? []}
        onChange={(project_ids) => onChange({ ...values, project_ids })}
      />
      <p className="dim">You can withdraw the consent at any time.</p>
    </Stack>
  );
}
