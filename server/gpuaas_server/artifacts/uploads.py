"""One upload of a blob's bytes through the API: an intent has one at a time, and quotas count the bytes as they come."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta

from psycopg import OperationalError

from gpuaas_server.artifacts import backends, intent_queries, publish_intents
from gpuaas_server.artifacts.machine import IntentState
from gpuaas_server.artifacts.rows import PublishIntentRow
from gpuaas_server.artifacts.stores import Measured
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import ArtifactUse
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

LEASE = timedelta(seconds=60)  # of an upload whose process is gone, before another may begin
RENEWED_AFTER = timedelta(seconds=20)
AHEAD = 64 << 20  # bytes that are reserved at a time for an upload of unknown size


async def paced(content: AsyncIterator[bytes], wait_turn: Callable[[int], Awaitable[None]]) -> AsyncIterator[bytes]:
    """Yield the same bytes at the sender's pace. While a piece waits, nothing reads the socket, so the sender waits too."""
    async for piece in content:
        await wait_turn(len(piece))
        yield piece


async def require_upload_limit(tx: Tx, settings: Settings, intent: PublishIntentRow) -> None:
    """Refuse one upload too many. The caller has locked the tenant's quota, so that nobody else begins meanwhile."""
    uploads = await intent_queries.live_uploads(tx.connection, intent.tenant_id, intent.project_id, tx.now)
    for scope, live, most in (
        ("project", uploads.in_project, settings.uploads_per_project),
        ("tenant", uploads.in_tenant, settings.uploads_per_tenant),
    ):
        if live >= most:
            raise Problem(
                "too_many_uploads", f"{live} uploads of the {scope} are in progress; at most {most} are allowed."
            )


class Upload:
    """Receives one upload. `first` is what was reserved before it began, and again when it comes to nothing."""

    def __init__(self, platform: Platform, scope: Scope, actor: Actor, project_id: str, intent_id: str) -> None:
        self._platform, self._scope, self._actor = platform, scope, actor
        self._project_id, self._intent_id = project_id, intent_id
        self._token = secrets.token_hex(8)
        self._first = self._reserved = 0
        self._renew_at: datetime = platform.clock()

    async def receive(self, content: AsyncIterator[bytes], announced: int) -> Measured:
        """Receive the bytes. Whatever goes wrong, even when the client leaves, nothing stays reserved for them."""
        store = backends.directory_store(self._platform.settings)
        await self._begin(announced)
        try:
            store.discard_cut_off(self._project_id, self._intent_id)  # of an upload that was cut off
            measured = await store.write(self._project_id, self._intent_id, content, self._admit)
            await self._finish(measured)
        except BaseException:
            await asyncio.shield(self._abandon())
            raise
        return measured

    async def _begin(self, announced: int) -> None:
        async with self._platform.transaction(self._scope, self._actor) as tx:
            intent = publish_intents.present(
                await intent_queries.intent_lock(tx.connection, self._project_id, self._intent_id), self._intent_id
            )
            publish_intents.require_open_blob(intent)
            if intent.parts_name is not None:
                raise Problem("conflict", "The upload of this intent goes in parts.")
            if intent.upload_until is not None and intent.upload_until > tx.now:
                raise Problem("upload_in_progress", "Another upload to this intent is in progress.")
            self._first = intent.reserved_bytes
            await self._reserve(tx, intent, max(self._first, announced))
            await require_upload_limit(tx, self._platform.settings, intent)
            await self._store(tx)

    async def _admit(self, size: int) -> None:
        """Reserve bytes that are not reserved yet before they are written, and renew this upload's lease."""
        if size <= self._reserved and self._platform.clock() < self._renew_at:
            return
        async with self._platform.transaction(self._scope, self._actor) as tx:
            intent = await self._lock_own_intent(tx)
            if size > self._reserved:
                await self._reserve_ahead(tx, intent, size)
            await self._store(tx)

    async def _reserve_ahead(self, tx: Tx, intent: PublishIntentRow, size: int) -> None:
        try:
            await self._reserve(tx, intent, max(size, self._reserved + AHEAD))
        except Problem:
            await self._reserve(tx, intent, size)

    async def _reserve(self, tx: Tx, intent: PublishIntentRow, size: int) -> None:
        use = ArtifactUse(intent.tenant_id, self._project_id, 0, size - intent.reserved_bytes)
        refusal = await capacity.count_artifacts(tx, self._platform.settings, use)
        if refusal is not None:
            raise refusal
        self._reserved = size

    async def _store(self, tx: Tx) -> None:
        until = tx.now + LEASE
        await intent_queries.upload_renew(tx.connection, self._intent_id, self._token, until, self._reserved)
        self._renew_at = tx.now + RENEWED_AFTER

    async def _lock_own_intent(self, tx: Tx) -> PublishIntentRow:
        """Lock the intent. Refuse bytes that arrive too late: the intent has ended, or belongs to another upload."""
        intent = publish_intents.present(
            await intent_queries.intent_lock(tx.connection, self._project_id, self._intent_id), self._intent_id
        )
        if intent.state != IntentState.OPEN or intent.upload_token != self._token:
            raise Problem("conflict", f"The intent is {intent.state}: the bytes arrived too late.")
        return intent

    async def _finish(self, measured: Measured) -> None:
        try:
            async with self._platform.transaction(self._scope, self._actor) as tx:
                intent = await self._lock_own_intent(tx)
                await self._reserve(tx, intent, measured.size_bytes)
                await intent_queries.upload_end(tx.connection, self._intent_id, measured.size_bytes)
                await publish_intents.content_received(tx, intent, measured.digest, measured.size_bytes)
        except Problem:
            backends.directory_store(self._platform.settings).discard_upload(self._project_id, self._intent_id)
            raise

    async def _abandon(self) -> None:
        """Give the reservation back. An upload for which this cannot be stored lapses by itself."""
        with suppress(Problem, OperationalError):
            async with self._platform.transaction(self._scope, self._actor) as tx:
                intent = await self._lock_own_intent(tx)
                await self._reserve(tx, intent, self._first)
                await intent_queries.upload_end(tx.connection, self._intent_id, self._first)
