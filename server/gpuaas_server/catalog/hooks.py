"""What the catalogue asks of, and tells, the noun that uses versions of apps: instances."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.hooks import Hook


@dataclass(frozen=True, slots=True)
class VersionHooks:
    # How many run this version, of all tenants.
    live_instances: Callable[[Connection, str], Awaitable[int]]
    # Told when this version is retired.
    retired: Callable[[Tx, str], Awaitable[None]]


version_hooks: Hook[VersionHooks] = Hook("version_hooks")
