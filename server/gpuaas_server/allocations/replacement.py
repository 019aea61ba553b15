"""Replace an allocation: release it, and claim the same again, in one transaction."""

from dataclasses import replace

from gpuaas_server.allocations import creation, service
from gpuaas_server.allocations.machine import NOT_PROVEN
from gpuaas_server.allocations.schemas import Allocation, AllocationCreate, AllocationRelease
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

REPLACEABLE = ("provisioning", "active")


async def allocation_replace(
    tx: Tx, settings: Settings, caller: Caller, allocation_id: str, body: AllocationRelease
) -> Allocation:
    """Return the new allocation. Nothing is released unless the same can be claimed, quota included.

    What is on a lost host counts as not proven clean from here on, so that the quota of GPUs need not allow both.
    """
    row = await service.allocation_lock(tx, caller.project_id, allocation_id)
    if row.state not in REPLACEABLE:
        raise Problem("conflict", f"The allocation is {row.state}; only one that is in use can be replaced.")
    released = await service.ask_release(tx, row, body.reason or "replaced")
    wanted = AllocationCreate(sku=row.sku_id, gpu_count=row.gpu_count, name=row.name)
    gpus_released = 0
    if row.host_lost_since is not None:
        await service.change(tx, released, NOT_PROVEN, None)
        gpus_released = row.gpu_count
    made = await creation.allocation_create(tx, settings, caller, wanted, gpus_released=gpus_released)
    if gpus_released:
        await tx.flush()  # counts the new one: one statement cannot change the row of a quota twice
        service.move_quota(tx, replace(row, counted=False), counted=False, unproven=True)
    replacement = made.items[0]
    details: dict[str, object] = {"replacement": replacement.id}
    entry = AuditEntry(
        "allocation_replace", allocation_id, row.tenant_id, caller.project_id, reason=body.reason, details=details
    )
    await record(tx, entry)
    return replacement
