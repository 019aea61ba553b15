"""Allocations as places for apps: what another room may know of them before it puts something there."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import DictRow

from gpuaas_server.allocations import placement_queries as queries
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


@dataclass(frozen=True, slots=True)
class Place:
    id: str
    name: str | None
    state: str
    shape: str
    gpu_model: str
    gpu_count: int
    node_id: str
    tenant_id: str
    project_id: str


async def places_hold(tx: Tx, project_ids: Sequence[str], allocation_ids: Sequence[str]) -> dict[str, Place]:
    """Those of the projects', locked: nobody else puts something there, or releases them, before we commit."""
    return _by_id(await queries.places_hold(tx.connection, project_ids, sorted(set(allocation_ids))))


async def places_show(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, Place]:
    return _by_id(await queries.places_show(connection, sorted(set(allocation_ids))))


async def places_list(connection: Connection, project_id: str, after: str | None, limit: int) -> list[Place]:
    return [Place(**row) for row in await queries.places_list(connection, project_id, after, limit)]


def _by_id(rows: Sequence[DictRow]) -> dict[str, Place]:
    return {row["id"]: Place(**row) for row in rows}
