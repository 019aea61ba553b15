"""Allocations as other nouns see them: as hosts that are inspected, and as places for members of instances."""

from collections.abc import Sequence

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.rows import AllocationFacts, AllocationHost
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


async def allocation_hosts(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, AllocationHost]:
    return {row.id: row for row in await queries.hosts_show(connection, allocation_ids)}


async def facts_lock(tx: Tx, project_ids: Sequence[str], allocation_ids: Sequence[str]) -> dict[str, AllocationFacts]:
    """Lock those of the projects: nobody else places a member there, or releases them, before the commit."""
    rows = await queries.facts_lock(tx.connection, project_ids, sorted(set(allocation_ids)))
    return {row.id: row for row in rows}


async def facts_show(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, AllocationFacts]:
    return {row.id: row for row in await queries.facts_show(connection, sorted(set(allocation_ids)))}


async def facts_list(connection: Connection, project_id: str, after: str | None, limit: int) -> list[AllocationFacts]:
    """List the project's allocations that have not ended, newest first."""
    return await queries.facts_list(connection, project_id, after, limit)
