"""Tells what is known of allocations: their topology for people; for other nouns, hosts to inspect and places for members."""

from collections.abc import Sequence

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.rows import AllocationFacts, AllocationHost
from gpuaas_server.allocations.schemas import Topology
from gpuaas_server.capacity import service as capacity
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.pages import PageRequest


async def allocation_hosts(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, AllocationHost]:
    return {row.id: row for row in await queries.hosts_show(connection, allocation_ids)}


async def facts_lock(tx: Tx, project_ids: Sequence[str], allocation_ids: Sequence[str]) -> dict[str, AllocationFacts]:
    """Lock those of the projects: nobody else places a member there, or releases them, before the commit."""
    rows = await queries.facts_lock(tx.connection, project_ids, sorted(set(allocation_ids)))
    return {row.id: row for row in rows}


async def facts_show(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, AllocationFacts]:
    return {row.id: row for row in await queries.facts_show(connection, sorted(set(allocation_ids)))}


async def facts_list(connection: Connection, project_id: str, page: PageRequest) -> list[AllocationFacts]:
    """List the project's allocations that have not ended, newest first."""
    return await queries.facts_list(connection, project_id, page)


async def allocation_topology(connection: Connection, project_id: str, allocation_id: str) -> Topology:
    """Return which GPUs of its host are the allocation's own, and how the host links them."""
    row = await queries.allocation_show(connection, project_id, allocation_id)
    if row is None:
        raise not_found("allocation", allocation_id)
    gpus = await capacity.gpus_beside(connection, allocation_id, row.node_id)
    return Topology(allocation_id=allocation_id, node_id=row.node_id, gpus=gpus)
