"""Connects the hooks of the nouns, once, before a process serves or works: what a noun calls in the nouns above it."""

from gpuaas_server.access import service as access
from gpuaas_server.admission.hooks import ConsentHooks, QuotaHooks, consent_hooks, quota_hooks
from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.hooks import AllocationHooks, allocation_hooks
from gpuaas_server.allocations.host_changes import announce_host_change
from gpuaas_server.artifacts.hooks import ArtifactHooks, artifact_hooks
from gpuaas_server.capacity import service as capacity
from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.hooks import ControllerHooks, VersionHooks, controller_hooks, version_hooks
from gpuaas_server.controllers import service as controllers
from gpuaas_server.instances import service as instances
from gpuaas_server.kernel.context import Tx
from gpuaas_server.nodes.hooks import NodeHooks, node_hooks
from gpuaas_server.projects.hooks import TenantHooks, tenant_hooks
from gpuaas_server.terminals import service as terminals


async def _host_gone(tx: Tx, allocation_id: str, reason: str) -> None:
    await terminals.allocation_ended(tx, allocation_id)
    await instances.allocation_ended(tx, allocation_id, reason)


def connect_hooks() -> None:
    consent_hooks.connect(ConsentHooks(consented_apps=controllers.consented_apps))
    quota_hooks.connect(QuotaHooks(stream_quota=capacity.stream_quota))
    tenant_hooks.connect(TenantHooks(tenant_created=controllers.tenant_created))
    controller_hooks.connect(
        ControllerHooks(
            statuses=controllers.statuses,
            app_changed=controllers.app_changed,
            consent_with_entitlement=controllers.consent_with_entitlement,
        )
    )
    node_hooks.connect(
        NodeHooks(
            host_changed=announce_host_change,
            release_allocations=allocations.allocations_release_on_node,
            has_live_allocations=allocations.has_live_allocations,
        )
    )
    allocation_hooks.connect(
        AllocationHooks(
            ask_members_to_leave=instances.ask_members_to_leave,
            has_members=instances.allocation_has_members,
            host_gone=_host_gone,
            hosts_changed=instances.hosts_changed,
            grant_stored_keys=access.grants_create_from_keys,
            grants_of=access.grants_of,
            revoked_serials=access.revoked_serials,
        )
    )
    artifact_hooks.connect(
        ArtifactHooks(
            live_instances=instances.live_on_digest,
            active_versions=catalog.active_versions_on_digest,
            versions=catalog.versions_on_digest,
            digests_referred=catalog.digests_referred,
            digests_running=instances.digests_running,
            last_retirements=catalog.last_retirements,
            last_instance_ends=instances.last_instance_ends,
            artifact_changed=instances.artifact_flagged,
            tenant_trust_changed=instances.tenant_trust_changed,
        )
    )
    version_hooks.connect(VersionHooks(live_instances=instances.live_on_version, retired=instances.version_retired))
