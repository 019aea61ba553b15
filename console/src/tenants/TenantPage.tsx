import { useParams } from "@tanstack/react-router";
import { ActionButton } from "../actions/ActionButton";
import type { Tenant } from "../api/types";
import { size } from "../artifacts/size";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import { useTenant } from "../team/queries";
import { TenantMembers } from "../team/TenantMembers";
import { TenantUsers } from "../team/TenantUsers";
import { tenantDisableSpec, tenantEnableSpec, tenantQuotaSpec, tenantRenameSpec } from "./actions";
import { Entitlements } from "./Entitlements";
import { QuotaBar } from "./QuotaBar";
import { useTenantQuota } from "./queries";
import { TenantProjects } from "./TenantProjects";
import { Trust } from "./Trust";

export function TenantPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useTenant(id);
  return (
    <>
      {!query.data && <PageHead title="Tenant" />}
      <Loaded query={query}>{(tenant) => <Shown tenant={tenant} />}</Loaded>
    </>
  );
}

function Shown({ tenant }: { tenant: Tenant }) {
  const may = new Set(tenant.allowed_actions);
  const quota = useTenantQuota(tenant.id);
  return (
    <>
      <PageHead
        above={<PageLink to="/ops/tenants">Tenants</PageLink>}
        title={tenant.name}
        badges={<StateBadge state={tenant.disabled ? "disabled" : "active"} />}
        actions={
          <>
            {may.has("tenant_update") && (
              <ActionButton spec={tenantRenameSpec} resource={tenant} name={tenant.name} />
            )}
            {may.has("tenant_quota_set") && (
              <ActionButton spec={tenantQuotaSpec} resource={tenant} name={tenant.name} />
            )}
            {may.has("tenant_update") && (
              <ActionButton
                spec={tenant.disabled ? tenantEnableSpec : tenantDisableSpec}
                resource={tenant}
                name={tenant.name}
              />
            )}
          </>
        }
      />
      <div className="stack">
        <Panel title="Tenant">
          <KeyValues
            items={[
              ["Slug", <code key="slug">{tenant.slug}</code>],
              ["Id", <Mono key="id" text={tenant.id} copy="Copy id" />],
              ["Made", <RelativeTime key="made" at={tenant.created_at} />],
              ["GPUs of all projects", quota.data && <QuotaBar key="quota" quota={quota.data} />],
              ["Artifacts", quota.data && `${quota.data.artifacts_used} of ${quota.data.artifact_limit}`],
              [
                "Bytes of artifacts",
                quota.data &&
                  `${size(quota.data.artifact_bytes_used)} of ${size(quota.data.artifact_byte_limit ?? 0)}`,
              ],
              [
                "GPUs not proven clean",
                quota.data && `${quota.data.unproven_gpus} of ${quota.data.unproven_gpu_limit}`,
              ],
            ]}
          />
        </Panel>
        <TenantProjects tenant={tenant} />
        <Entitlements tenant={tenant} />
        <Trust tenant={tenant} />
        <TenantMembers tenant={tenant} />
        <TenantUsers tenant={tenant} />
      </div>
    </>
  );
}
