"""Who uses artifacts: versions that refer to them and instances that run from them, both in rooms above this one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.ports import Port


@dataclass(frozen=True, slots=True)
class ArtifactUsers:
    # How many run from the digest, of all tenants.
    live_instances: Callable[[Connection, str], Awaitable[int]]
    # How many active ones of the publishing project (the first text) refer to the digest (the second).
    active_versions: Callable[[Connection, str, str], Awaitable[int]]
    # Names of those of the publishing project that are not retired and refer to the digest; at most so many.
    versions: Callable[[Connection, str, str, int], Awaitable[list[str]]]
    # Told, with digest and publishing project, when an artifact has lost its trust.
    no_longer_trusted: Callable[[Tx, str, str], Awaitable[None]]


artifact_users: Port[ArtifactUsers] = Port("the users of artifacts")
