import type { Tenant } from "../api/types";
import { useProject } from "../app/project";
import { Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { Tabbed } from "../parts/Tabbed";
import { TenantProjects } from "../tenants/TenantProjects";
import { Trust } from "../tenants/Trust";
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
                content: () => <OfTenant tenant={found} />,
              },
              { key: "users", label: "Users", content: () => <TenantUsers tenant={found} /> },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

/** Its administrators; and for them, what else belongs to the tenant as a whole. */
function OfTenant({ tenant }: { tenant: Tenant }) {
  return (
    <div className="stack">
      <TenantMembers tenant={tenant} />
      {tenant.allowed_actions.includes("project_create") && (
        <>
          <TenantProjects tenant={tenant} />
          <Trust tenant={tenant} />
        </>
      )}
    </div>
  );
}
