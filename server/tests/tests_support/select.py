"""Reads of the database in tests: rows by the names of their columns, whatever columns there are."""

from psycopg import AsyncCursor
from psycopg.abc import Params
from psycopg.rows import DictRow, dict_row

from gpuaas_server.kernel.database import Connection


async def select(connection: Connection, statement: str, parameters: Params | None = None) -> AsyncCursor[DictRow]:
    """Execute a statement whose rows are read by column name."""
    return await connection.cursor(row_factory=dict_row).execute(statement.encode(), parameters)
