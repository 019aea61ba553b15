"""An allocation is to be released, and what runs on it goes first: stop the instance, or remove the members there.

At once, or as soon as the operation that is in the way has ended. Tried once: the allocation's own release does not wait
for ever, and its wipe takes away whatever is left.
"""

from psycopg.rows import DictRow

from gpuaas_server.allocations import service as allocations
from gpuaas_server.instances.held import Held
from gpuaas_server.instances.machine import MEMBER_FROM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations.starting import Target, Wish, instance_operation_start, member_operations_start
from gpuaas_server.work import leases

REASON = "an allocation below it is being released"
RELEASE_SECONDS = 900


async def go_on(held: Held) -> None:
    """After an operation has ended: begin the departures that it was in the way of, and let the allocations look."""
    leaving = [member for member in held.living() if member["leaving"]]
    if not leaving:
        return
    if held.live_operation() is None:
        await depart(held, leaving)
    await leases.enqueue(held.tx, allocations.WORK, sorted({member["allocation_id"] for member in leaving}))


async def depart(held: Held, leaving: list[DictRow]) -> None:
    for member in leaving:
        held.member_change(member, leaving=False)
    if held.row["status"] in ("stopped", "created") or not _running(held, leaving):
        return
    places: list[str] = sorted({member["allocation_id"] for member in leaving})
    parameters: dict[str, object] = {"release_of": places}
    staying = [member for member in held.living() if member not in leaving]
    if not staying:
        await instance_operation_start(held, Wish("stop", REASON, RELEASE_SECONDS, parameters))
        return
    targets = [Target(new_id("op"), member) for member in _running(held, leaving)]
    held.unwanted(target.member for target in targets)
    await member_operations_start(held, Wish("remove", REASON, RELEASE_SECONDS, parameters), targets)


def _running(held: Held, leaving: list[DictRow]) -> list[DictRow]:
    return [member for member in leaving if member["status"] in MEMBER_FROM["remove"] and member["status"] != "pending"]


async def released(held: Held, operation: DictRow) -> None:
    """The operation has ended, whichever way: an allocation that waits for it may go on."""
    places = operation["parameters"].get("release_of")
    if isinstance(places, list):
        await leases.enqueue(held.tx, allocations.WORK, [str(place) for place in places])
