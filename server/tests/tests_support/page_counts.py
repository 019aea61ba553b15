"""How many pages of a table a statement touches, as PostgreSQL itself counts them."""

from typing import Any

from gpuaas_server.kernel.database import Connection


class CountingConnection:
    """A connection that counts statements and adds up the pages which each touched, in plain and in typed queries."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.pages, self.statements = connection, 0, 0

    async def execute(self, statement: str, parameters: Any = ()) -> Any:
        await self.count(statement, parameters)
        return await self.connection.execute(statement, parameters)

    def cursor(self, row_factory: Any) -> "_CountingCursor":
        return _CountingCursor(self, self.connection.cursor(row_factory=row_factory))

    async def count(self, statement: str, parameters: Any) -> None:
        self.statements += 1
        explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
        row = await (await self.connection.execute(explained, parameters)).fetchone()
        assert row is not None
        plan = row[0][0]["Plan"]
        self.pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


class _CountingCursor:
    def __init__(self, counting: CountingConnection, cursor: Any) -> None:
        self._counting, self._cursor = counting, cursor

    async def execute(self, statement: str, parameters: Any = ()) -> Any:
        await self._counting.count(statement, parameters)
        return await self._cursor.execute(statement, parameters)
