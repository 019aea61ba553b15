"""The long poll: ten thousand agents wait here for tasks. An idle wait costs one small event object and no query.

Looks of many nodes are answered by one statement: whoever comes while one is under way rides with the next.
"""

import asyncio
import base64
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from psycopg.rows import DictRow

from gpuaas_server.access import keys
from gpuaas_server.access.keys import PlatformKey
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.nodes import task_queries as queries
from gpuaas_server.nodes.tasks import topic

SIGNATURE_PREFIX = b"gpuaas-task-v1\n"
KEYS_LIFE = timedelta(seconds=60)
MOST_LOOKS = 500  # nodes in one statement
MOST_TASKS = 100  # tasks in one answer; the rest comes with the next poll


@dataclass(frozen=True, slots=True)
class SignedTask:
    envelope: str
    kid: str
    signature: str


class TaskInbox:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._longest_wait = platform.settings.node_lost_seconds / 3
        self._asking: dict[str, list[asyncio.Future[list[DictRow] | None]]] = defaultdict(list)
        self._looking: asyncio.Task[None] | None = None
        self._keys: list[PlatformKey] = []
        self._keys_until: datetime | None = None

    async def poll(self, node_id: str, wait: float, have: frozenset[str]) -> list[SignedTask]:
        """Tasks of the node that it does not have yet; when there are none, the first within `wait` seconds.

        Subscribe, look, wait: a task that commits in between sets the event. The wait is kept below the time after
        which a silent node counts as lost.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(wait, self._longest_wait)
        async with self._platform.wakeups.waiting(topic(node_id)) as woken:
            while True:
                woken.clear()
                rows = await self._look(node_id)
                fresh = [row for row in rows if row["id"] not in have]
                left = deadline - loop.time()
                ending = self._platform.wakeups.ending
                if fresh or left <= 0 or ending or not await _rest(woken, left):
                    return await self._sign(fresh[:MOST_TASKS]) if fresh else []

    async def _look(self, node_id: str) -> list[DictRow]:
        answer: asyncio.Future[list[DictRow] | None] = asyncio.get_running_loop().create_future()
        self._asking[node_id].append(answer)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_for_all())
        rows = await answer
        if rows is None:
            raise Problem("node_retired")
        return rows

    async def _look_for_all(self) -> None:
        try:
            while self._asking:
                batch = {node_id: self._asking.pop(node_id) for node_id in list(self._asking)[:MOST_LOOKS]}
                try:
                    found = await self._pending(list(batch))
                except Exception as error:
                    _refuse(batch, error)
                    continue
                for node_id, answers in batch.items():
                    for answer in answers:
                        if not answer.done():
                            answer.set_result(found.get(node_id))
        finally:
            self._looking = None

    async def _pending(self, node_ids: Sequence[str]) -> dict[str, list[DictRow]]:
        async with self._platform.database.connection(PLATFORM) as connection:
            rows = await queries.tasks_pending(connection, node_ids)
        found: dict[str, list[DictRow]] = {}
        for row in rows:
            tasks = found.setdefault(row["node_id"], [])
            if row["id"] is not None:
                tasks.append(row)
        return found

    async def _sign(self, rows: list[DictRow]) -> list[SignedTask]:
        key = await self._task_key()
        return [sign_task(row, key) for row in rows]

    async def _task_key(self) -> PlatformKey:
        now = self._platform.clock()
        if self._keys_until is None or now >= self._keys_until:
            self._keys = await keys.live_keys(self._platform, "task_signing")
            self._keys_until = now + KEYS_LIFE
        return keys.signer(self._keys, now)


def sign_task(row: DictRow, key: PlatformKey) -> SignedTask:
    """The envelope as text, so that what is signed is what is sent, byte by byte."""
    if not isinstance(key.private, Ed25519PrivateKey):
        raise TypeError("the task key is not Ed25519")
    envelope = orjson.dumps(
        {
            "task_id": row["id"],
            "node_id": row["node_id"],
            "kind": row["kind"],
            "resource_id": row["resource_id"],
            "generation": row["generation"],
            "deadline": row["deadline"],
            "correlation_id": row["correlation_id"],
            "traceparent": row["traceparent"],
            "spec": row["spec"],
        }
    )
    signature = base64.b64encode(key.private.sign(SIGNATURE_PREFIX + envelope)).decode()
    return SignedTask(envelope.decode(), key.kid, signature)


async def _rest(woken: asyncio.Event, seconds: float) -> bool:
    """Whether a wake-up came; without one there is nothing new to look at."""
    metrics.agent_polls.inc()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await woken.wait()
        return False
    finally:
        metrics.agent_polls.dec()


def _refuse(batch: dict[str, list[asyncio.Future[list[DictRow] | None]]], error: Exception) -> None:
    for answers in batch.values():
        for answer in answers:
            if not answer.done():
                answer.set_exception(error)
