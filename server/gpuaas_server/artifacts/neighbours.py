"""What this room asks of, and tells, the rooms of apps: imported where it is used, since they import this room too."""

from datetime import datetime
from typing import Protocol

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


class Leased(Protocol):
    """As much of a leased operation as this room needs."""

    @property
    def tenant_id(self) -> str: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def deadline_at(self) -> datetime: ...


async def lease_of(tx: Tx, project_id: str, operation_id: str, lease_token: str) -> Leased:
    from gpuaas_server.operations import service as operations

    return await operations.lease_of(tx.connection, project_id, operation_id, lease_token, tx.actor, tx.now)


async def live_instances(connection: Connection, digest: str) -> int:
    """Of all tenants."""
    from gpuaas_server.instances import service as instances

    return await instances.live_on_digest(connection, digest)


async def active_versions(connection: Connection, project_id: str, digest: str) -> int:
    """Active app versions of the publishing project that refer to the digest."""
    from gpuaas_server.catalog import service as catalog

    return await catalog.active_versions_on_digest(connection, project_id, digest)


async def artifact_flagged(tx: Tx, digest: str, project_id: str) -> None:
    from gpuaas_server.instances import service as instances

    await instances.artifact_flagged(tx, digest, project_id)
