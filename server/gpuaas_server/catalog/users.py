"""Who uses versions of apps: instances, in a room above this one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.ports import Port


@dataclass(frozen=True, slots=True)
class VersionUsers:
    # How many run this version, of all tenants.
    live_instances: Callable[[Connection, str], Awaitable[int]]


version_users: Port[VersionUsers] = Port("the users of versions")
