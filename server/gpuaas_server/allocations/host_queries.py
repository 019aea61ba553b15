"""SQL of allocations as hosts to be looked at."""

from collections.abc import Sequence

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection


async def hosts_show(connection: Connection, allocation_ids: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, tenant_id, project_id, node_id, shape, state, baseline_sha256 FROM allocations WHERE id = ANY(%s)",
        (list(allocation_ids),),
    )
    return await cursor.fetchall()
