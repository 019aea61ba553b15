"""The way to PostgreSQL: a pool, the tenant scope of each connection (row-level security), and transactions.

A connection always has a scope before it is handed out; without one the policies show no row at all.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson
from psycopg import AsyncConnection, DatabaseError
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.pipeline import pipeline

Connection = AsyncConnection[DictRow]

# What our own SQL functions raise to refuse: MESSAGE is a code of the error catalogue, DETAIL the sentence, HINT the details.
REFUSED = "GP001"
_refusing: dict[str, tuple[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows the database shows: one tenant's, or, for platform roles and the worker, all."""

    tenant_id: str
    platform: bool = False


PLATFORM = Scope(tenant_id="", platform=True)
NOBODY = Scope(tenant_id="")


class Database:
    def __init__(self, url: str, pool_size: int) -> None:
        self.url = url
        self._pool = AsyncConnectionPool[Connection](
            url,
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=10,
            max_idle=60,
            connection_class=Connection,
            kwargs={"row_factory": dict_row, "autocommit": True, "prepare_threshold": 1},
            configure=_configure,
            check=None,
        )

    async def open(self) -> None:
        await self._pool.open(wait=True, timeout=30)
        async with self.connection(NOBODY) as connection:
            await refuse_all_seeing_role(connection)
            await refuse_other_encodings(connection)

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def connection(self, scope: Scope) -> AsyncIterator[Connection]:
        """A connection in autocommit, for single reads."""
        try:
            connection = await self._pool.getconn()
        except PoolTimeout as error:
            raise Problem("unavailable", "All database connections are busy.") from error
        try:
            await _enter_scope(connection, scope)
            yield connection
        finally:
            await self._pool.putconn(connection)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Connection]:
        """A transaction in pipeline mode: statements whose rows nobody fetches travel together, COMMIT included.

        BEGIN and COMMIT are plain statements of the pipeline, since `connection.transaction()` waits for each of them.
        A statement that fails makes the server skip what follows it, the COMMIT too, until the pipeline ends.
        """
        async with self.connection(scope) as connection:
            try:
                async with pipeline(connection):
                    await connection.execute("BEGIN", prepare=False)
                    yield connection
                    ended = await connection.execute("COMMIT", prepare=False)
                if ended.statusmessage != "COMMIT":
                    raise RuntimeError("the transaction was rolled back: an error in it was caught and forgotten")
            except DatabaseError as error:
                raise _refusal(error) or error from error.__cause__
            finally:
                if connection.info.transaction_status is not TransactionStatus.IDLE and not connection.closed:
                    await connection.rollback()


def refuse_on(constraints: Sequence[str], code: str, detail: str) -> None:
    """A room says which of its constraints, when they are violated, are an answer and not a fault."""
    _refusing.update(dict.fromkeys(constraints, (code, detail)))


def _refusal(error: DatabaseError) -> Problem | None:
    said = error.diag
    if said.constraint_name in _refusing:
        return Problem(*_refusing[said.constraint_name])
    if error.sqlstate != REFUSED:
        return None
    return Problem(
        said.message_primary or "internal", said.message_detail or "", orjson.loads(said.message_hint or "{}")
    )


async def _configure(connection: Connection) -> None:
    await connection.execute(
        "SELECT set_config('statement_timeout', '15s', false), set_config('lock_timeout', '5s', false),"
        " set_config('idle_in_transaction_session_timeout', '30s', false),"
        " set_config('jit', 'off', false), set_config('timezone', 'UTC', false),"
        # Every question of ours has an index, and asks for few rows. A plan made while a table was still small would read
        # all of it, and is kept for as long as the connection lives, however large the table has become.
        " set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),"
        " set_config('enable_mergejoin', 'off', false), set_config('enable_bitmapscan', 'off', false)"
    )


async def _enter_scope(connection: Connection, scope: Scope) -> None:
    """Set the row-level-security scope; skipped when the connection already has exactly this one."""
    if getattr(connection, "gpuaas_scope", None) == scope:
        return
    connection.gpuaas_scope = None  # type: ignore[attr-defined]
    await connection.execute(
        "SELECT set_config('gpuaas.tenant', %s, false), set_config('gpuaas.platform', %s, false)",
        (scope.tenant_id, "on" if scope.platform else "off"),
    )
    connection.gpuaas_scope = scope  # type: ignore[attr-defined]


async def rows_removed(connection: Connection, delete: str, parameters: Sequence[object]) -> int:
    """Run a DELETE of ours, and count: in a pipeline a cursor does not know how many rows there were."""
    cursor = await connection.execute(
        f"WITH gone AS ({delete} RETURNING 1) SELECT count(*) AS n FROM gone".encode(), parameters
    )
    row = await cursor.fetchone()
    return int(row["n"]) if row else 0


async def refuse_all_seeing_role(connection: Connection) -> None:
    """Row-level security is a wall only for a role that cannot walk around it."""
    cursor = await connection.execute(
        "SELECT rolsuper OR rolbypassrls AS sees_all FROM pg_roles WHERE rolname = current_user"
    )
    row = await cursor.fetchone()
    if row is None or row["sees_all"]:
        raise RuntimeError(
            "the database role is SUPERUSER or BYPASSRLS, which disables the tenant wall; "
            "connect as an ordinary role that owns the gpuaas schema"
        )


async def refuse_other_encodings(connection: Connection) -> None:
    """Names of people and things are Unicode; another encoding would fail late and oddly."""
    cursor = await connection.execute("SELECT current_setting('server_encoding') AS encoding")
    row = await cursor.fetchone()
    if row is None or row["encoding"] != "UTF8":
        raise RuntimeError("the database's encoding is not UTF8; create it with ENCODING 'UTF8' TEMPLATE template0")
