"""A psycopg pipeline that sends when somebody wants an answer, not after every statement.

psycopg's own flushes each statement by itself: a system call, a wait in the event loop and a waking server every time, which
for a transaction of ten small statements is more than half of its cost here. See docs/decisions/0013.

This is the only module that uses what is private to psycopg. `SEND_LATE = False` does without it, at that cost: nothing else
has to change, and tests run both ways.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection, AsyncPipeline
from psycopg.abc import PQGen
from psycopg.generators import send

SEND_LATE = True


class _LatePipeline(AsyncPipeline):
    def _communicate_gen(self) -> PQGen[None]:
        """Send nothing yet, where psycopg would send each statement."""
        yield from ()

    def _fetch_gen(self, *, flush: bool) -> PQGen[None]:
        while self.command_queue:
            self.command_queue.popleft()()
        yield from send(self.pgconn)
        yield from super()._fetch_gen(flush=flush)


@asynccontextmanager
async def pipeline(connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    if SEND_LATE:
        connection._pipeline = _LatePipeline(connection)  # `connection.pipeline()` goes on with the one it finds
    async with connection.pipeline():
        yield
