"""Members follow their allocations: they leave before a release, and are lost with a host."""

from collections import defaultdict
from collections.abc import Sequence

from gpuaas_server.instances import departures, member_queries, secret_rotation
from gpuaas_server.instances.health import WORK as HEALTH_WORK
from gpuaas_server.instances.locked_instance import LockedInstance, lock_any_instance
from gpuaas_server.instances.operation_completion import cancel_unclaimed, fail_without_hosts
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.failures import failure
from gpuaas_server.work import leases


async def allocation_has_members(connection: Connection, allocation_id: str) -> bool:
    """Say whether a member still has to leave the allocation."""
    return await member_queries.allocation_in_use(connection, allocation_id)


async def ask_members_to_leave(tx: Tx, allocation_id: str) -> bool:
    """Ask the members on an allocation that is to be released to leave; say whether there is one to wait for."""
    waits = False
    for instance_id in await member_queries.instances_on_allocation(tx.connection, allocation_id):
        locked = await lock_any_instance(tx, instance_id)
        if locked is None:
            continue
        leaving = [member for member in locked.living_members() if member.allocation_id == allocation_id]
        for (
            member
        ) in leaving:  # before the cancellation, which starts the next operation: it must know which members leave
            locked.change_member(member, leaving=True)
        await cancel_unclaimed(locked, leaving)
        await departures.start_departures(locked)
        await locked.store()
        waits = waits or locked.live_operation() is not None
    return waits


async def hosts_changed(tx: Tx, allocation_ids: Sequence[str]) -> None:
    """Derive the health of instances anew after hosts were lost, came back, or were reported as broken."""
    rows = await member_queries.instances_on_allocations(tx.connection, allocation_ids)
    of_tenant: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        of_tenant[row.tenant_id].append(row.id)
    for tenant_id, instance_ids in sorted(of_tenant.items()):
        await leases.enqueue(tx, HEALTH_WORK, instance_ids, flow=tenant_id)


async def allocation_ended(tx: Tx, allocation_id: str, reason: str) -> None:
    """Mark the members on an allocation that was released or failed as lost: its host is wiped or gone."""
    for instance_id in await member_queries.instances_on_allocation(tx.connection, allocation_id):
        locked = await lock_any_instance(tx, instance_id)
        if locked is not None:
            await _lose(locked, allocation_id, reason)
            await secret_rotation.start_due_rotation(locked)
            await locked.store()


async def _lose(locked: LockedInstance, allocation_id: str, reason: str) -> None:
    why = failure("allocation_ended", f"Allocation {allocation_id} has ended: {reason}.")
    lost = [member for member in locked.living_members() if member.allocation_id == allocation_id]
    if any(member.status != "pending" for member in lost):  # it was begun: it may know all that members share
        secret_rotation.mark_secrets_stale(locked)
    for member in lost:
        locked.change_member(member, host_gone=True, leaving=False)
        locked.set_member_status(member, "failed", why.document())
    await fail_without_hosts(locked, why)
    if locked.row.status == "running" and all(member.host_gone for member in locked.living_members()):
        locked.set_status("failed", why.document())
