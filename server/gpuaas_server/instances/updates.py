"""Changes of what an instance is wanted to be that need no operation."""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.instances import drift
from gpuaas_server.instances.drift_rows import Drift
from gpuaas_server.instances.drift_schemas import InstanceUpdate
from gpuaas_server.instances.locked_instance import lock_instance
from gpuaas_server.instances.operation_requests import require_living
from gpuaas_server.instances.schemas import Instance
from gpuaas_server.instances.views import instance_of
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import RequireMatch, Tx


async def instance_update(
    tx: Tx, caller: Caller, instance_id: str, body: InstanceUpdate, require_match: RequireMatch
) -> Instance:
    """Set the reconcile policy. Attempts that had stopped begin anew, also when the policy stays the same."""
    locked = await lock_instance(tx, caller.project_id, instance_id)
    require_match(locked.row.generation)
    require_living(locked)
    before = locked.row.reconcile_policy
    locked.change(reconcile_policy=body.reconcile_policy)
    locked.note_drift(drift.restarted(Drift.of(locked.row.drift)))
    locked.add_event("instance.updated", reconcile_policy=body.reconcile_policy)
    row = await locked.store()
    details: dict[str, object] = {"reconcile_policy": {"before": before, "after": body.reconcile_policy}}
    await record(tx, AuditEntry("instance_update", row.id, row.tenant_id, row.project_id, details=details))
    return instance_of(row, caller, tx.now)
