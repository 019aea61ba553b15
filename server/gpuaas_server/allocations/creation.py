"""Creates allocations: one transaction claims the GPUs, writes the rows and enqueues the work of the reconciler."""

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.hooks import NewGrants, allocation_hooks
from gpuaas_server.allocations.machine import possible_actions
from gpuaas_server.allocations.rows import NewAllocation, TransitionRow
from gpuaas_server.allocations.schemas import Allocation, AllocationBatch, AllocationCreate
from gpuaas_server.allocations.service import WORK, allocation_event
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import Claim, PlacementRequest
from gpuaas_server.events.service import emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases


async def allocation_create(
    tx: Tx,
    settings: Settings,
    caller: Caller,
    body: AllocationCreate,
    *,
    gpus_released: int = 0,
) -> AllocationBatch:
    """Claim the GPUs, write the rows, and enqueue the reconciler's work.

    `gpus_released` is the number of GPUs that stop counting in the same transaction.
    """
    request = PlacementRequest(caller.tenant_id, caller.project_id, body.sku, body.gpu_count, body.count, gpus_released)
    claimed = await capacity.claim(tx, request, settings.quota_unproven_gpus)
    rows = _new_rows(tx, claimed, body.name)
    tx.later.insert(queries.ALLOCATION_INSERT, rows)
    tx.later.insert(queries.TRANSITION_INSERT, [_first_transition(row) for row in rows])
    ids = [row.id for row in rows]
    details: dict[str, object] = {"sku": claimed.sku.name, "gpus": claimed.gpu_count}
    if body.ssh_key_ids:
        wanted = NewGrants(caller.tenant_id, caller.project_id, ids, tx.actor.id, body.ssh_key_ids)
        await allocation_hooks().grant_stored_keys(tx, wanted)
        details["ssh_keys"] = body.ssh_key_ids
    await record(
        tx, *(AuditEntry("allocation_create", i, caller.tenant_id, caller.project_id, details=details) for i in ids)
    )
    await emit(tx, *(allocation_event("allocation.requested", row) for row in rows))
    leases.enqueue_new(tx, WORK, ids, caller.tenant_id)
    metrics.allocations_ended.labels("requested").inc(len(ids))
    return AllocationBatch(items=[_fresh(row, caller) for row in rows])


def _new_rows(tx: Tx, claimed: Claim, name: str | None) -> list[NewAllocation]:
    request, sku = claimed.request, claimed.sku
    batch_id = new_id("bat") if request.count > 1 else None
    names = [name] if request.count == 1 else [f"{name}-{n + 1}" if name else None for n in range(request.count)]
    return [
        NewAllocation(
            id=allocation_id,
            node_id=placement.node_id,
            name=own_name,
            tenant_id=request.tenant_id,
            project_id=request.project_id,
            batch_id=batch_id,
            sku_id=sku.id,
            sku_name=sku.name,
            shape=sku.shape,
            gpu_model=sku.gpu_model,
            gpu_count=claimed.gpu_count,
            state="requested",
            state_since=tx.now,
            created_by=tx.actor.id,
            correlation_id=tx.actor.correlation_id,
            created_at=tx.now,
        )
        for (allocation_id, placement), own_name in zip(claimed.placements, names, strict=True)
    ]


def _first_transition(row: NewAllocation) -> TransitionRow:
    return TransitionRow(row.id, 1, row.tenant_id, row.created_at, row.state, row.created_by)


def _fresh(row: NewAllocation, caller: Caller) -> Allocation:
    """Build the answer to a creation from what was just written, without reading it back."""
    return Allocation.model_construct(
        **fields_of(row),
        deadline_at=None,
        release_by=None,
        phase=None,
        failure=None,
        ssh=None,
        wipe_verified=None,
        wipe_grade_required=None,
        wipe_grade=None,
        wipe_not_examined=[],
        active_at=None,
        ended_at=None,
        generation=1,
        health="progressing",
        health_reasons=[],
        allowed_actions=identity.allowed_actions(caller, possible_actions("requested")),
    )
