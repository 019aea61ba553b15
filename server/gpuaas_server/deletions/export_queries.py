"""SQL of exports: pages of a table by its key. Names of tables and columns are fixed words of ours."""

from psycopg.rows import DictRow

from gpuaas_server.deletions.exported_tables import ExportedTable
from gpuaas_server.kernel.database import Connection


async def page(
    connection: Connection,
    table: ExportedTable,
    scope: dict[str, object],
    after: tuple[object, ...] | None,
    limit: int,
) -> list[DictRow]:
    """`after` is the key of the last row of the page before."""
    key = ", ".join(table.key)
    names = ", ".join(f"%({column})s" for column in table.key)
    further = "" if after is None else f" AND ({key}) > ({names})"
    cursor = await connection.execute(
        f"SELECT {table.columns} FROM {table.table} WHERE {table.where}{further} ORDER BY {key} LIMIT %(limit)s".encode(),
        {**scope, **dict(zip(table.key, after or (), strict=False)), "limit": limit},
    )
    return await cursor.fetchall()
