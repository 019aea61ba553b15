"""Keeps when each agent was last heard: in memory, and written for all of them together once a second, when any was.

A sign of life may be lost with the process (at most a second of them); the next poll brings another.
"""

import asyncio
import logging
import os
import secrets
import socket
from contextlib import suppress
from datetime import datetime, timedelta

from psycopg import Error

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.nodes import liveness_queries as queries

log = logging.getLogger(__name__)

FLUSH_SECONDS = 1.0
LISTENING_SECONDS = 3.0  # how often the process records that it listens while no agent is heard
DEAF_AFTER = timedelta(seconds=10)  # a longer gap between two flushes means that nobody was listening


class Liveness:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._process = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._heartbeats: dict[str, datetime] = {}
        self._flushed_at: datetime | None = None
        self._listening_since = platform.clock()
        self._task: asyncio.Task[None] | None = None

    def record_heartbeat(self, node_id: str) -> None:
        self._heartbeats[node_id] = self._platform.clock()

    async def open(self) -> None:
        self._listening_since = self._platform.clock()
        self._task = asyncio.create_task(self._run(), name="liveness-flush")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with suppress(Error, Problem):
            await self.flush()

    async def flush(self) -> None:
        """Write one statement for all that were heard and one for this listener; what fails is kept for the next time."""
        now = self._platform.clock()
        if self._flushed_at is not None and now - self._flushed_at > DEAF_AFTER:
            self._listening_since = now
        written, self._heartbeats = self._heartbeats, {}
        try:
            async with self._platform.database.connection(PLATFORM) as connection:
                await queries.listener_upsert(connection, self._process, self._listening_since, now)
                if written:
                    await queries.heartbeats_upsert(connection, written)
        except BaseException:
            self._heartbeats = written | self._heartbeats
            raise
        self._flushed_at = now

    def _is_due(self) -> bool:
        written = self._flushed_at
        return written is None or self._platform.clock() - written >= timedelta(seconds=LISTENING_SECONDS)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            if not self._heartbeats and not self._is_due():
                continue
            try:
                await self.flush()
            except (Error, Problem) as error:
                if not self._platform.database.health.explains(error):
                    log.info("signs of life not written, will retry", extra={"error": str(error)})
