"""One upload of a blob's bytes through the API: the only one of its intent, counted against the quotas as the bytes come."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta

from psycopg import OperationalError
from psycopg.rows import DictRow

from gpuaas_server.artifacts import intent_queries, places, publishing
from gpuaas_server.artifacts.machine import IntentState
from gpuaas_server.artifacts.stores import Measured
from gpuaas_server.capacity import quotas
from gpuaas_server.capacity.quotas import ArtifactUse
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import Problem

LEASE = timedelta(seconds=60)  # of an upload whose process is gone, before another may begin
RENEWED_AFTER = timedelta(seconds=20)
AHEAD = 64 << 20  # bytes that are reserved at once where nobody said how many will come


class Upload:
    """`first` is what was reserved before it began, and is again when it comes to nothing."""

    def __init__(self, platform: Platform, scope: Scope, actor: Actor, project_id: str, intent_id: str) -> None:
        self._platform, self._scope, self._actor = platform, scope, actor
        self._project_id, self._intent_id = project_id, intent_id
        self._token = secrets.token_hex(8)
        self._first = self._reserved = 0
        self._renew_at: datetime = platform.clock()

    async def receive(self, content: AsyncIterator[bytes], announced: int) -> Measured:
        """Take the bytes in. Whatever goes wrong, the client's leaving too, nothing stays reserved for them."""
        store = places.directory_store(self._platform.settings)
        await self._begin(announced)
        try:
            store.discard_parts(self._project_id, self._intent_id)  # of an upload that was cut off
            measured = await store.write(self._project_id, self._intent_id, content, self._admit)
            await self._finish(measured)
        except BaseException:
            await asyncio.shield(self._abandon())
            raise
        return measured

    async def _begin(self, announced: int) -> None:
        async with self._platform.transaction(self._scope, self._actor) as tx:
            intent = publishing.present(
                await intent_queries.intent_hold(tx.connection, self._project_id, self._intent_id), self._intent_id
            )
            publishing.require_open_blob(intent)
            if intent["upload_until"] is not None and intent["upload_until"] > tx.now:
                raise Problem("upload_in_progress", "Another upload to this intent is under way.")
            self._first = intent["reserved_bytes"]
            await self._reserve(tx, intent, max(self._first, announced))
            await self._require_few(tx, intent)
            await self._store(tx)

    async def _require_few(self, tx: Tx, intent: DictRow) -> None:
        """Nobody else begins meanwhile: the tenant's quota is locked."""
        settings = self._platform.settings
        mine, all_ = await intent_queries.uploads_live(tx.connection, intent["tenant_id"], self._project_id, tx.now)
        for scope, live, most in (
            ("project", mine, settings.uploads_per_project),
            ("tenant", all_, settings.uploads_per_tenant),
        ):
            if live >= most:
                raise Problem("too_many_uploads", f"{live} uploads of the {scope} are under way, and {most} may be.")

    async def _admit(self, size: int) -> None:
        """Before bytes are written: reserve what is not reserved yet, and keep the upload ours."""
        if size <= self._reserved and self._platform.clock() < self._renew_at:
            return
        async with self._platform.transaction(self._scope, self._actor) as tx:
            intent = await self._ours(tx)
            if size > self._reserved:
                await self._reserve_ahead(tx, intent, size)
            await self._store(tx)

    async def _reserve_ahead(self, tx: Tx, intent: DictRow, size: int) -> None:
        try:
            await self._reserve(tx, intent, max(size, self._reserved + AHEAD))
        except Problem:
            await self._reserve(tx, intent, size)

    async def _reserve(self, tx: Tx, intent: DictRow, size: int) -> None:
        use = ArtifactUse(intent["tenant_id"], self._project_id, 0, size - intent["reserved_bytes"])
        refusal = await quotas.count_artifacts(tx, self._platform.settings, use)
        if refusal is not None:
            raise refusal
        self._reserved = size

    async def _store(self, tx: Tx) -> None:
        until = tx.now + LEASE
        await intent_queries.upload_renew(tx.connection, self._intent_id, self._token, until, self._reserved)
        self._renew_at = tx.now + RENEWED_AFTER

    async def _ours(self, tx: Tx) -> DictRow:
        """The intent may have gone on while the bytes came: then they came too late."""
        intent = publishing.present(
            await intent_queries.intent_hold(tx.connection, self._project_id, self._intent_id), self._intent_id
        )
        if intent["state"] != IntentState.OPEN or intent["upload_token"] != self._token:
            raise Problem("conflict", f"The intent is {intent['state']}: the bytes came too late.")
        return intent

    async def _finish(self, measured: Measured) -> None:
        try:
            async with self._platform.transaction(self._scope, self._actor) as tx:
                intent = await self._ours(tx)
                await self._reserve(tx, intent, measured.size_bytes)
                await intent_queries.upload_end(tx.connection, self._intent_id, measured.size_bytes)
                await publishing.content_received(tx, intent, measured.digest, measured.size_bytes)
        except Problem:
            places.directory_store(self._platform.settings).discard_upload(self._project_id, self._intent_id)
            raise

    async def _abandon(self) -> None:
        """The upload lapses by itself where this cannot be stored, and the rest when the intent ends."""
        with suppress(Problem, OperationalError):
            async with self._platform.transaction(self._scope, self._actor) as tx:
                intent = await self._ours(tx)
                await self._reserve(tx, intent, self._first)
                await intent_queries.upload_end(tx.connection, self._intent_id, self._first)
