"""The way to PostgreSQL: a pool, the tenant scope of each connection (row-level security), and transactions.

A connection always has a scope before it is handed out; without one the policies show no row at all.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import orjson
from psycopg import AsyncConnection, DatabaseError, Error
from psycopg.pq import TransactionStatus
from psycopg.rows import scalar_row, tuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from gpuaas_server.kernel.database_health import CONNECT_OPTIONS, WRITE_FAILURES, DatabaseHealth
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.pipeline import pipeline
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.kernel.tasks import stop
from gpuaas_server.kernel.write_probe import ANSWER_SECONDS, WriteProbe

# Rows are read through kernel/rows.py, as dataclasses. A plain `execute` yields tuples, of which a type says nothing.
Connection = AsyncConnection[tuple[object, ...]]

GET_SECONDS = 10.0
WAIT_SECONDS_AT_START = 1e8  # there is no deadline; three years are as good as none
GET_SECONDS_WHILE_AWAY = 1.0  # long enough for a restart; in a longer outage, callers get the error soon

# What our own SQL functions raise to refuse: MESSAGE is a code of the error catalogue, DETAIL the sentence, HINT the details.
REFUSED = "GP001"
_refusing: dict[str, tuple[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Scope:
    """Limits the rows that the database shows: those of one tenant, or, for platform roles and the worker, all.

    `controller` names a service account that acts beyond its own project: of apps it sees those that the tenants consent to.
    """

    tenant_id: str
    platform: bool = False
    controller: str = ""


PLATFORM = Scope(tenant_id="", platform=True)
NOBODY = Scope(tenant_id="")


class _PooledConnection(AsyncConnection[tuple[object, ...]]):
    @classmethod
    async def connect(cls, conninfo: str = "", *, health: DatabaseHealth, **options: Any) -> Self:  # type: ignore[override]
        """Connect at the pace that the health of the database sets: attempts become rarer the longer an outage lasts."""
        first = super().connect
        return await health.connect(lambda: first(conninfo, **options))


class Database:
    def __init__(self, url: str, pool_size: int) -> None:
        self.url = url
        self.health = DatabaseHealth()
        self._pool = AsyncConnectionPool[Connection](
            url,
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=GET_SECONDS,
            max_idle=60,
            connection_class=_PooledConnection,
            kwargs={
                "row_factory": tuple_row,
                "autocommit": True,
                "prepare_threshold": 1,
                "health": self.health,
                **CONNECT_OPTIONS,
            },
            configure=_configure,
            check=None,
        )
        self._probe = WriteProbe(self.health, lambda: self.connection(NOBODY))
        self._looking: asyncio.Task[bool] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Wait for the database for as long as it takes; the log and the health report it."""
        await self._pool.open(wait=False)
        await self._pool.putconn(await self._pool.getconn(timeout=WAIT_SECONDS_AT_START))
        self.health.on_return(self._replace_broken)
        await self.health.until_available(self._refuse_unfit)
        self._keep(asyncio.create_task(self._probe.run(), name="write-probe"))

    async def _refuse_unfit(self) -> None:
        async with self.connection(NOBODY) as connection:
            await refuse_all_seeing_role(connection)
            await refuse_other_encodings(connection)

    async def close(self) -> None:
        self.health.closing = True
        await stop(*self._tasks)
        await self._pool.close()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _replace_broken(self) -> None:
        """Replace idle connections after an outage: those of before it are dead."""
        self._keep(asyncio.create_task(self._check(), name="pool-check"))

    async def _check(self) -> None:
        with suppress(Error):
            await self._pool.check()

    async def answers(self) -> bool:
        """Tell whether a read is answered soon. Callers that ask at the same time share one query."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="database-look")
        done, _ = await asyncio.wait({self._looking}, timeout=ANSWER_SECONDS)
        return bool(done) and await self._looking

    async def _look(self) -> bool:
        try:
            async with self.connection(NOBODY) as connection:
                await connection.execute("SELECT 1")
        except (Error, Problem):
            return False
        return True

    @asynccontextmanager
    async def connection(self, scope: Scope) -> AsyncIterator[Connection]:
        """Open a connection in autocommit, for single reads."""
        try:
            connection = await self._pool.getconn(GET_SECONDS_WHILE_AWAY if self.health.cause else GET_SECONDS)
        except PoolTimeout as error:
            raise Problem("unavailable", self.health.cause or "All database connections are busy.") from error
        try:
            await _enter_scope(connection, scope)
            yield connection
        except Error as error:
            if error.sqlstate in WRITE_FAILURES:
                self._probe.suspect()
            raise
        finally:
            await self._pool.putconn(connection)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Connection]:
        """Begin a transaction in pipeline mode: statements whose rows nobody fetches travel together, COMMIT included.

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
    """Declare constraints whose violation is an answer to the caller and not a fault."""
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
        "SELECT set_config('gpuaas.tenant', %s, false), set_config('gpuaas.platform', %s, false),"
        " set_config('gpuaas.controller', %s, false)",
        (scope.tenant_id, "on" if scope.platform else "off", scope.controller),
    )
    connection.gpuaas_scope = scope  # type: ignore[attr-defined]


async def rows_removed(connection: Connection, delete: str, parameters: Sequence[object]) -> int:
    """Run a DELETE and count its rows: in a pipeline a cursor does not know how many there were."""
    cursor = await connection.cursor(row_factory=scalar_row).execute(
        f"WITH gone AS ({delete} RETURNING 1) SELECT count(*) FROM gone".encode(), parameters
    )
    return int(await cursor.fetchone() or 0)


async def refuse_all_seeing_role(connection: Connection) -> None:
    """Refuse to start with a role that row-level security does not bind."""
    cursor = await connection.cursor(row_factory=scalar_row).execute(
        "SELECT NOT rolsuper AND NOT rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    if not await cursor.fetchone():
        raise StartFailed(
            "the database role is SUPERUSER or BYPASSRLS, which disables the tenant wall; "
            "connect as an ordinary role that owns the gpuaas schema"
        )


async def refuse_other_encodings(connection: Connection) -> None:
    """Refuse to start with another encoding than UTF-8, in which Unicode names would fail late."""
    cursor = await connection.cursor(row_factory=scalar_row).execute("SELECT current_setting('server_encoding')")
    if await cursor.fetchone() != "UTF8":
        raise StartFailed("the database's encoding is not UTF8; create it with ENCODING 'UTF8' TEMPLATE template0")
