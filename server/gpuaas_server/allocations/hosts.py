"""Allocations as hosts to be looked at: where they are, and what their host looked like before the tenant came."""

from collections.abc import Sequence

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.rows import AllocationHost
from gpuaas_server.kernel.database import Connection

__all__ = ["AllocationHost", "allocation_hosts"]


async def allocation_hosts(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, AllocationHost]:
    return {row.id: row for row in await queries.hosts_show(connection, allocation_ids)}
