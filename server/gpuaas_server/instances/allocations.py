"""What happens to members when the allocation below them goes, and what must happen before it may."""

from gpuaas_server.instances import queries
from gpuaas_server.instances.held import Held, hold_any
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations import departures
from gpuaas_server.operations.ending import call_off, fail_without_hosts
from gpuaas_server.operations.machine import failure

NOTHING_RUNS = ("drained", "removed")


async def allocation_guests(connection: Connection, allocation_id: str) -> bool:
    """Whether something still has to leave the allocation: an operation works there, or will."""
    return await queries.allocation_guests(connection, allocation_id)


async def allocation_wants_release(tx: Tx, allocation_id: str) -> bool:
    """The release was asked for: what runs there is asked to go. Whether there is something to wait for."""
    waits = False
    for instance_id in await queries.instances_on_allocation(tx.connection, allocation_id):
        held = await hold_any(tx, instance_id)
        if held is None:
            continue
        leaving = [m for m in held.living() if m["allocation_id"] == allocation_id and m["status"] not in NOTHING_RUNS]
        await call_off(held, leaving)
        for member in leaving:
            held.member_change(member, leaving=True)
        await departures.go_on(held)
        await held.store()
        waits = waits or held.live_operation() is not None
    return waits


async def allocation_ended(tx: Tx, allocation_id: str, reason: str) -> None:
    """Released or failed: the host is wiped or lost, and the members there with it."""
    for instance_id in await queries.instances_on_allocation(tx.connection, allocation_id):
        held = await hold_any(tx, instance_id)
        if held is not None:
            await _lose(held, allocation_id, reason)
            await held.store()


async def _lose(held: Held, allocation_id: str, reason: str) -> None:
    why = failure("allocation_gone", f"Allocation {allocation_id} has ended: {reason}.")
    lost = [member for member in held.living() if member["allocation_id"] == allocation_id]
    for member in lost:
        held.member_change(member, host_gone=True, leaving=False)
        held.member_become(member, "failed", why.document())
    await fail_without_hosts(held, why)
    if held.row["status"] == "running" and all(member["host_gone"] for member in held.living()):
        held.become("failed", why.document())
