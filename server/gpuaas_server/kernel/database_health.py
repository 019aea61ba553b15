"""Holds what this process knows about its database: whether it can be used, since when not, and why, in plain words.

Every connection is made through `connect`, which tries again at a steady pace however long the outage lasts, so that the
process is back within a second of the database. The log has one line when an outage begins and one when it ends.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from psycopg import DatabaseError, OperationalError
from psycopg.errors import ConnectionTimeout, ReadOnlySqlTransaction
from psycopg_pool import PoolTimeout

from gpuaas_server.kernel.errors import Problem

log = logging.getLogger("gpuaas.database")

RECONNECT_PAUSE = 0.25
CONNECT_SECONDS = 2
# For a network that swallows packets, too: a connection that nobody answers on ends soon.
CONNECT_OPTIONS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
# What a use of the database fails with while it is away, or cannot write.
OUTAGE_ERRORS = (OperationalError, ReadOnlySqlTransaction, PoolTimeout)
# What a statement fails with when nothing can be written: full, read-only, broken.
WRITE_FAILURES = frozenset({"53000", "53100", "25006", "58030"})
NO_ANSWER = "PostgreSQL does not answer."
_AWAY = "PostgreSQL does not accept connections."
_BY_SQLSTATE = {
    "53100": "PostgreSQL has no disk space left.",
    "58030": "PostgreSQL cannot read or write its files.",
    "25006": "PostgreSQL is read-only: it is a standby, or was set so.",
    "53300": "PostgreSQL has too many connections.",
    "28P01": "PostgreSQL refuses the role or its password.",
    "28000": "PostgreSQL refuses the role or its password.",
    "3D000": "PostgreSQL has no such database.",
    "57P01": "PostgreSQL was shut down.",
    "57P02": "PostgreSQL crashed, and starts again.",
    "57P03": "PostgreSQL is starting or shutting down.",
    "57014": "The database took too long to answer.",
    "55P03": "Others hold what the request needs for too long.",
    "25P03": "The request took too long between two statements.",
}
# Whoever is refused while connecting gets no code from libpq, only PostgreSQL's text. It decides nothing: it only finds
# the better words, and in another language than English those of `_AWAY` are right too.
_BY_TEXT = {
    "password authentication failed": _BY_SQLSTATE["28P01"],
    "no pg_hba.conf entry": _BY_SQLSTATE["28P01"],
    "no password supplied": _BY_SQLSTATE["28P01"],
    "role ": _BY_SQLSTATE["28P01"],
    "the database system is": _BY_SQLSTATE["57P03"],
    "too many clients": _BY_SQLSTATE["53300"],
    "remaining connection slots": _BY_SQLSTATE["53300"],
    "No space left on device": _BY_SQLSTATE["53100"],
    'database "': _BY_SQLSTATE["3D000"],
    "could not translate host name": "The name of the database's host cannot be resolved.",
    "failed to resolve host": "The name of the database's host cannot be resolved.",
    "timeout expired": NO_ANSWER,
}
# A connection that is gone. None: the driver noticed it by itself.
_LOST = frozenset({None, "57P01", "57P02", "57P03", "08006", "08003", "08001", "25P03"})
Connected = TypeVar("Connected")
Done = TypeVar("Done")


def describe_failure(error: BaseException) -> str:
    """Describe a failure for anybody: the sentence names no host, no role and no statement."""
    if isinstance(error, PoolTimeout):
        return "All database connections are busy."
    if isinstance(error, ConnectionTimeout):
        return NO_ANSWER
    sqlstate = getattr(error, "sqlstate", None)
    if sqlstate in _BY_SQLSTATE:
        return _BY_SQLSTATE[sqlstate]
    text = str(error)
    for part, words in _BY_TEXT.items():
        if part in text:
            return words
    return _AWAY if sqlstate is None else "The database could not do it."


class DatabaseHealth:
    """Conditions that keep the process from serving, each with its cause."""

    def __init__(self) -> None:
        self._conditions: dict[str, str] = {}
        self._since = 0.0
        self._turn = asyncio.Lock()
        self._on_return: list[Callable[[], None]] = []
        self.closing = False

    @property
    def cause(self) -> str:
        """Say why the database cannot be used now; empty when it can."""
        return next(iter(self._conditions.values()), "")

    def explains(self, error: BaseException) -> bool:
        """Tell whether a known outage is why this failed: then no further line in the log is needed."""
        lost = isinstance(error, OperationalError) and error.sqlstate in _LOST
        return lost or (bool(self.cause) and isinstance(error, (DatabaseError, PoolTimeout, Problem, OSError)))

    def on_return(self, tell: Callable[[], None]) -> None:
        """Register a function that is called when the database is back and connections may have been lost."""
        self._on_return.append(tell)

    def begin(self, condition: str, cause: str, error: BaseException | None = None) -> None:
        if not self._conditions:
            self._since = time.monotonic()
        known = self._conditions.get(condition)
        self._conditions[condition] = cause
        if known is None and len(self._conditions) == 1:
            extra = {"cause": cause, "error": str(error).strip() if error is not None else ""}
            log.warning(f"The database cannot be used: {cause} Waiting for it.", extra=extra)

    def end(self, condition: str) -> None:
        if self._conditions.pop(condition, None) is None or self._conditions:
            return
        seconds = round(time.monotonic() - self._since, 1)
        log.warning(f"The database can be used again after {seconds} s.", extra={"seconds": seconds})
        self.announce_return()

    def announce_return(self) -> None:
        for tell in self._on_return:
            tell()

    async def until_available(self, step: Callable[[], Awaitable[Done]]) -> Done:
        """Return what `step` returns, and repeat it as long as an outage makes it fail. Caller must give a step that may be
        repeated from its beginning.
        """
        while True:
            try:
                done = await step()
            except (*OUTAGE_ERRORS, Problem) as error:
                if self.closing or (isinstance(error, Problem) and error.code != "unavailable"):
                    raise
                self.begin("step", error.detail if isinstance(error, Problem) else describe_failure(error), error)
                await asyncio.sleep(RECONNECT_PAUSE)
            else:
                self.end("step")
                return done

    async def connect(self, connect: Callable[[], Awaitable[Connected]]) -> Connected:
        """Try until there is a connection. While the database is unavailable, a process makes one attempt at a time."""
        while True:
            try:
                if self._conditions:
                    async with self._turn:
                        connection = await connect()
                else:
                    connection = await connect()
            except (OperationalError, OSError) as error:
                if self.closing:
                    raise
                self.begin("connect", describe_failure(error), error)
                await asyncio.sleep(RECONNECT_PAUSE)
            else:
                self.end("connect")
                return connection
