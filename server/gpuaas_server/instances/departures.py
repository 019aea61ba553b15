"""Members leave an allocation that is to be released: the instance is stopped, or the members there are removed.

That starts at once, or as soon as the operation that is in the way has ended. It is tried once: the allocation's own
release does not wait for ever, and its wipe takes away whatever is left.
"""

from gpuaas_server.allocations import service as allocations
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.operation_start import Target, start_instance_operation, start_member_operations
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations.service import KINDS, OperationRequest, OperationRow
from gpuaas_server.work import leases

REASON = "an allocation below it is being released"
RELEASE_SECONDS = 900


async def start_departures(locked: LockedInstance) -> None:
    """Start the departures that waited for the operation which has just ended, and wake the allocations."""
    leaving = leaving_members(locked)
    if not leaving:
        return
    if locked.live_operation() is None:
        await _depart(locked, leaving)
    await leases.enqueue(locked.tx, allocations.WORK, sorted({member.allocation_id for member in leaving}))


async def _depart(locked: LockedInstance, leaving: list[MemberRow]) -> None:
    for member in leaving:
        locked.change_member(member, leaving=False)
    if locked.row.status in ("stopped", "created") or not _running(locked, leaving):
        return
    places: list[str] = sorted({member.allocation_id for member in leaving})
    parameters: dict[str, object] = {"release_of": places}
    gone = {member.id for member in leaving}
    if all(member.id in gone for member in locked.living_members()):
        await start_instance_operation(locked, OperationRequest("stop", REASON, RELEASE_SECONDS, parameters))
        return
    targets = [Target(new_id("op"), member) for member in _running(locked, leaving)]
    locked.drop_from_intent(target.member for target in targets)
    await start_member_operations(locked, OperationRequest("remove", REASON, RELEASE_SECONDS, parameters), targets)


def _running(locked: LockedInstance, leaving: list[MemberRow]) -> list[MemberRow]:
    removable = set(KINDS["remove"].member_from) - {"pending", "drained"}  # on a drained one nothing runs
    return [member for member in leaving if member.status in removable]


def leaving_members(locked: LockedInstance) -> list[MemberRow]:
    return [member for member in locked.living_members() if member.leaving]


async def wake_allocations(locked: LockedInstance, operation: OperationRow, were_leaving: list[MemberRow]) -> None:
    """Wake the allocations that waited for the operation, which has ended one way or the other.

    `were_leaving`: members that were to leave before it ended. An operation that removed them has done that.
    """
    asked = operation.parameters.get("release_of")
    places = {str(place) for place in asked} if isinstance(asked, list) else set()
    places |= {one.allocation_id for one in were_leaving if not locked.members[one.id].leaving}
    if places:
        await leases.enqueue(locked.tx, allocations.WORK, sorted(places))
