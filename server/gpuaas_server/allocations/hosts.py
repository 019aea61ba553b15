"""Allocations as hosts to be looked at: where they are, and what their host looked like before the tenant came."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_server.allocations import host_queries as queries
from gpuaas_server.kernel.database import Connection


@dataclass(frozen=True, slots=True)
class AllocationHost:
    id: str
    tenant_id: str
    project_id: str
    node_id: str
    shape: str
    state: str
    baseline_sha256: str | None


async def allocation_hosts(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, AllocationHost]:
    rows = await queries.hosts_show(connection, allocation_ids)
    return {row["id"]: AllocationHost(**row) for row in rows}
