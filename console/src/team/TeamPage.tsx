import { useProject } from "../app/project";
import { Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { Tabbed } from "../parts/Tabbed";
import { ProjectMembers } from "./ProjectMembers";
import { useTenant } from "./queries";
import { ServiceAccounts } from "./ServiceAccounts";
import { TenantMembers } from "./TenantMembers";
import { TenantUsers } from "./TenantUsers";

export function TeamPage() {
  const project = useProject();
  const tenant = useTenant(project.tenant_id);
  return (
    <>
      <PageHead
        title="Team"
        lead={`Who may do what in ${project.name}${tenant.data ? ` of ${tenant.data.name}` : ""}.`}
      />
      <Loaded query={tenant}>
        {(found) => (
          <Tabbed
            label="Parts of the team"
            tabs={[
              { key: "members", label: "Members", content: () => <ProjectMembers project={project} /> },
              {
                key: "service-accounts",
                label: "Service accounts",
                content: () => <ServiceAccounts project={project} />,
              },
              {
                key: "tenant",
                label: "Tenant",
                content: () => <TenantMembers tenant={found} />,
              },
              { key: "users", label: "Users", content: () => <TenantUsers tenant={found} /> },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}
