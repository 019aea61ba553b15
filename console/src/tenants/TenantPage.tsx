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
import {
  tenantDisableSpec,
  tenantEnableSpec,
  tenantQuotaSpec,
  tenantRenameSpec,
  tenantWipeSpec,
} from "./actions";
import { ControllerOffers } from "./ControllerOffers";
import { DeletionBanner } from "./DeletionBanner";
import { DeletionWaits } from "./DeletionWaits";
import { stateOfPlace, tenantDeleteSpec, tenantExport, tenantUndeleteSpec } from "./deletionActions";
import { Entitlements } from "./Entitlements";
import { ExportLink } from "./ExportLink";
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
        badges={<StateBadge state={stateOfPlace(tenant)} />}
        actions={
          <>
            {may.has("tenant_update") && (
              <ActionButton spec={tenantRenameSpec} resource={tenant} name={tenant.name} />
            )}
            {may.has("tenant_update") && (
              <ActionButton spec={tenantWipeSpec} resource={tenant} name={tenant.name} />
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
            {may.has("tenant_export") && <ExportLink href={tenantExport(tenant)} slug={tenant.slug} />}
            {may.has("tenant_delete") && (
              <ActionButton spec={tenantDeleteSpec} resource={tenant} name={tenant.name} />
            )}
          </>
        }
      />
      <div className="stack">
        <DeletionBanner noun="tenant" deleteAfter={tenant.delete_after}>
          {may.has("tenant_undelete") && (
            <ActionButton spec={tenantUndeleteSpec} resource={tenant} name={tenant.name} />
          )}
        </DeletionBanner>
        <DeletionWaits tenant={tenant.id} />
        <Panel title="Tenant">
          <KeyValues
            items={[
              ["Slug", <code key="slug">{tenant.slug}</code>],
              ["ID", <Mono key="id" text={tenant.id} copy="Copy ID" />],
              ["Created", <RelativeTime key="made" at={tenant.created_at} />],
              ["Wipe of whole hosts", `at least ${tenant.wipe_grade}`],
              ["GPUs in all projects", quota.data && <QuotaBar key="quota" quota={quota.data} />],
              ["Artifacts", quota.data && `${quota.data.artifacts_used} of ${quota.data.artifact_limit}`],
              [
                "Artifact bytes",
                quota.data &&
                  `${size(quota.data.artifact_bytes_used)} of ${size(quota.data.artifact_byte_limit ?? 0)}`,
              ],
              [
                "Unproven GPUs",
                quota.data && `${quota.data.unproven_gpus} of ${quota.data.unproven_gpu_limit}`,
              ],
              ["Streams", quota.data && `at most ${quota.data.stream_limit} at one api process`],
            ]}
          />
        </Panel>
        <TenantProjects tenant={tenant} />
        <Entitlements tenant={tenant} />
        <ControllerOffers tenantId={tenant.id} />
        <Trust tenant={tenant} />
        <TenantMembers tenant={tenant} />
        <TenantUsers tenant={tenant} />
      </div>
    </>
  );
}
