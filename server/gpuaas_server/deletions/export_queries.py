"""SQL of exports: pages of a table by its key. Names of tables and columns are fixed words of ours."""

from collections.abc import Sequence

from psycopg.rows import dict_row

from gpuaas_server.deletions.exported_tables import ExportedTable
from gpuaas_server.kernel.database import Connection

ExportedRow = dict[str, object]  # as the line shows it: which columns there are is the table's business


async def page(
    connection: Connection,
    table: ExportedTable,
    scope: dict[str, object],
    after: tuple[object, ...] | None,
    limit: int,
) -> list[ExportedRow]:
    """Return a page of the table. `after` is the key of the last row of the page before."""
    key = ", ".join(table.key)
    names = ", ".join(f"%({column})s" for column in table.key)
    further = "" if after is None else f" AND ({key}) > ({names})"
    cursor = await connection.cursor(row_factory=dict_row).execute(
        f"SELECT {table.columns} FROM {table.table} WHERE {table.where}{further} ORDER BY {key} LIMIT %(limit)s".encode(),
        {**scope, **dict(zip(table.key, after or (), strict=False)), "limit": limit},
    )
    return await cursor.fetchall()


def key_of(table: ExportedTable, row: ExportedRow) -> tuple[object, ...]:
    return tuple(row[column] for column in table.key)


def ids_of(rows: Sequence[ExportedRow]) -> list[object]:
    return [row["id"] for row in rows]
