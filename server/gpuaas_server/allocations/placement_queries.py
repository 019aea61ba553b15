"""SQL of allocations as places for apps."""

from collections.abc import Sequence

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_FACTS = "id, name, state, shape, gpu_model, gpu_count, node_id, tenant_id, project_id"


async def places_hold(
    connection: Connection, project_ids: Sequence[str], allocation_ids: Sequence[str]
) -> list[DictRow]:
    """In the order of their ids, so that two who hold several do not wait for each other in a circle."""
    cursor = await connection.execute(
        f"SELECT {_FACTS} FROM allocations WHERE id = ANY(%s) AND project_id = ANY(%s) ORDER BY id FOR NO KEY UPDATE",
        (list(allocation_ids), list(project_ids)),
    )
    return await cursor.fetchall()


async def places_show(connection: Connection, allocation_ids: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_FACTS} FROM allocations WHERE id = ANY(%s) ORDER BY id", (list(allocation_ids),)
    )
    return await cursor.fetchall()


async def places_list(connection: Connection, project_id: str, after: str | None, limit: int) -> list[DictRow]:
    """The project's allocations that have not ended, newest first."""
    cursor = await connection.execute(
        f"SELECT {_FACTS} FROM allocations WHERE project_id = %(project)s AND ended_at IS NULL"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"project": project_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()
