"""Who lives on allocations: members of instances, in a room above this one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.ports import Port


@dataclass(frozen=True, slots=True)
class AllocationGuests:
    # Asked to go, since the allocation is to be released; whether there is somebody to wait for.
    ask_to_leave: Callable[[Tx, str], Awaitable[bool]]
    # Whether somebody still has to leave.
    are_there: Callable[[Connection, str], Awaitable[bool]]
    # Told, with the reason, that from now on there is no host: whatever was on it is lost.
    host_gone: Callable[[Tx, str, str], Awaitable[None]]


allocation_guests: Port[AllocationGuests] = Port("the guests of allocations")
