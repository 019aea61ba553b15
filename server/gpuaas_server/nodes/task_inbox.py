"""The long poll: ten thousand agents wait here for tasks. An idle wait costs one small event object and no query.

Subscribe, read, wait: the only statement is the look, and looks of many nodes travel together (kernel/lookups.py).
"""

import base64
import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.host_tasks.service import topic
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.lookups import BatchedLookup
from gpuaas_server.kernel.wakeups import PollResult
from gpuaas_server.nodes import task_queries as queries
from gpuaas_server.nodes.task_queries import PendingTask
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import PlatformKey

SIGNATURE_PREFIX = b"gpuaas-task-v1\n"
KEYS_LIFE = timedelta(seconds=60)
# Made once: in the signature of a nested function it is made for every poll.
_TaskPoll = PollResult[list[PendingTask] | None]
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
        self._pending_tasks = BatchedLookup(self._pending)
        self._keys: list[PlatformKey] = []
        self._keys_until: datetime | None = None

    async def poll(
        self, node_id: str, key_generation: int, wait: float, have: frozenset[str]
    ) -> list[SignedTask] | None:
        """Return the node's tasks that it does not have yet; when there are none, wait for the first up to `wait` seconds.

        Return None when the node has another key than the one that asks. The wait stays below the time after which a
        silent node counts as lost.
        """

        async def read() -> _TaskPoll:
            rows = await self._pending_tasks.ask(node_id)
            if rows is None:
                raise Problem("node_retired")
            if rows[0].key_generation != key_generation:
                return PollResult(None, True, math.inf)
            fresh = [row for row in rows if row.id is not None and row.id not in have]
            return PollResult(fresh, bool(fresh), math.inf)  # the next poll looks anyway

        with metrics.agent_polls.track_inprogress():
            fresh = await self._platform.wakeups.long_poll(topic(node_id), read, min(wait, self._longest_wait))
        if fresh is None:
            return None
        return await self._sign(fresh[:MOST_TASKS]) if fresh else []

    async def _pending(self, node_ids: Sequence[str]) -> dict[str, list[PendingTask]]:
        async with self._platform.database.connection(PLATFORM) as connection:
            rows = await queries.tasks_pending(connection, node_ids)
        found: dict[str, list[PendingTask]] = {}
        for row in rows:
            found.setdefault(row.node_id, []).append(row)
        return found

    async def _sign(self, rows: list[PendingTask]) -> list[SignedTask]:
        key = await self._task_key()
        return [sign_task(row, key) for row in rows]

    async def _task_key(self) -> PlatformKey:
        now = self._platform.clock()
        if self._keys_until is None or now >= self._keys_until:
            self._keys = await pki.live_keys(self._platform, "task_signing")
            self._keys_until = now + KEYS_LIFE
        return pki.signer(self._keys, now)


def sign_task(row: PendingTask, key: PlatformKey) -> SignedTask:
    """Sign the task. The envelope is a text, so that what is signed is what is sent, byte by byte."""
    if not isinstance(key.private, Ed25519PrivateKey):
        raise TypeError("the task key is not Ed25519")
    envelope = orjson.dumps(
        {
            "task_id": row.id,
            "node_id": row.node_id,
            "kind": row.kind,
            "resource_id": row.resource_id,
            "generation": row.generation,
            "deadline": row.deadline,
            "correlation_id": row.correlation_id,
            "traceparent": row.traceparent,
            "spec": row.spec,
        }
    )
    signature = base64.b64encode(key.private.sign(SIGNATURE_PREFIX + envelope)).decode()
    return SignedTask(envelope.decode(), key.kid, signature)
