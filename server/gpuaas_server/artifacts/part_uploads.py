"""Uploads in parts: what has arrived, where the rest goes, and one part through the API.

A publisher whose connection broke, or whose process was killed, asks again and sends what is missing. Every request for parts
moves the intent's deadline; parts that nobody asks for any more are removed with the intent.
"""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from gpuaas_server.artifacts import backends, intent_queries, publish_intents
from gpuaas_server.artifacts.machine import IntentState, parts_deadline
from gpuaas_server.artifacts.parts import Part, PartedUpload
from gpuaas_server.artifacts.rows import PublishIntentRow
from gpuaas_server.artifacts.schemas import UploadedPart, UploadPart, UploadParts, UploadPartsRequest
from gpuaas_server.artifacts.uploads import LEASE, RENEWED_AFTER, require_upload_limit
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import ArtifactUse
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

IN_PARTS = "parts"  # in place of the token of an upload as a whole: several parts may come at once
TICKET_SECONDS = 3600
PAGE = 1000
MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class PartUploads:
    """The upload in parts of one intent, for one call."""

    platform: Platform
    scope: Scope
    actor: Actor
    project_id: str
    intent_id: str

    async def list(self, wanted: UploadPartsRequest) -> UploadParts:
        """List parts with tickets for those that are missing. The first call begins the upload."""
        intent = await self._open_intent()
        upload = publish_intents.upload_in_parts(intent) or await self._begin(intent)
        store = backends.blob_store(self.platform.settings)
        received = await store.received_parts(upload, wanted.after, wanted.limit)
        if received is None:  # the bucket has removed it: begin again
            upload = await self._begin(intent)
            received = {}
        deadline = await self._move_deadline(intent)
        parts = [
            self._document(upload, part, received.get(part.number) == part.size_bytes)
            for part in upload.layout.parts(wanted.after, wanted.limit)
        ]
        return UploadParts(count=upload.layout.count, deadline_at=deadline, parts=parts)

    async def receive(self, number: int, content: AsyncIterator[bytes]) -> UploadedPart:
        """Receive one part, where blobs are in a directory. It counts when all its bytes are on the disk."""
        store = backends.directory_store(self.platform.settings)
        async with self.platform.transaction(self.scope, self.actor) as tx:
            upload, part = await self._begin_part(tx, number)
        await store.write_part(upload, part, self._renewing(content))
        return UploadedPart(number=number, size_bytes=part.size_bytes)

    async def require_complete(self) -> None:
        """Refuse to complete an upload whose parts are not all there: it can go on."""
        async with self.platform.database.connection(self.scope) as connection:
            intent = await intent_queries.intent_show(connection, self.project_id, self.intent_id)
        upload = None if intent is None or intent.state != IntentState.OPEN else publish_intents.upload_in_parts(intent)
        if upload is None:
            return
        store, received = backends.blob_store(self.platform.settings), dict[int, int]()
        for after in range(0, upload.layout.count, PAGE):
            received |= await store.received_parts(upload, after, PAGE) or {}
        missing = upload.layout.missing(received)
        if missing:
            detail = f"{len(missing)} of {upload.layout.count} parts have not arrived, the first is {missing[0]}."
            raise Problem("upload_incomplete", detail, {"missing": missing[:MOST_NAMED], "count": len(missing)})

    async def _open_intent(self) -> PublishIntentRow:
        async with self.platform.database.connection(self.scope) as connection:
            found = await intent_queries.intent_show(connection, self.project_id, self.intent_id)
        intent = publish_intents.present(found, self.intent_id)
        publish_intents.require_open_blob(intent)
        _require_parts(intent)
        return intent

    async def _begin(self, intent: PublishIntentRow) -> PartedUpload:
        """Begin the upload in the store, or find the one that another call has begun meanwhile."""
        store = backends.blob_store(self.platform.settings)
        name = await store.begin_parts(self.project_id, self.intent_id)
        async with self.platform.transaction(self.scope, self.actor) as tx:
            stored = await intent_queries.parts_name_store(tx.connection, self.intent_id, intent.parts_name, name)
        if stored is None:
            stored = await self._other_upload(name)
        upload = publish_intents.upload_in_parts(stored)
        if upload is None:
            raise Problem("conflict", "Another call has begun the upload. Try again.")
        return upload

    async def _other_upload(self, name: str) -> PublishIntentRow:
        """Return the intent with the upload that was first. Ours is abandoned, and nobody will send a part of it."""
        async with self.platform.database.connection(self.scope) as connection:
            found = await intent_queries.intent_show(connection, self.project_id, self.intent_id)
        if found is None or found.state != IntentState.OPEN or found.parts_name != name:
            await backends.blob_store(self.platform.settings).abandon_parts(self.project_id, self.intent_id, name)
        intent = publish_intents.present(found, self.intent_id)
        publish_intents.require_open_blob(intent)
        return intent

    async def _begin_part(self, tx: Tx, number: int) -> tuple[PartedUpload, Part]:
        found = await intent_queries.intent_lock(tx.connection, self.project_id, self.intent_id)
        intent = publish_intents.present(found, self.intent_id)
        publish_intents.require_open_blob(intent)
        upload = publish_intents.upload_in_parts(intent)
        part = None if upload is None else upload.layout.part(number)
        if upload is None or part is None:
            raise Problem("conflict", f"The upload has no part {number}: request its parts first.")
        in_progress = intent.upload_until is not None and intent.upload_until > tx.now
        if in_progress and intent.upload_token != IN_PARTS:
            raise Problem("upload_in_progress", "Another upload to this intent is in progress.")
        if not in_progress:
            settings = self.platform.settings
            await capacity.count_artifacts(tx, settings, ArtifactUse(intent.tenant_id, self.project_id, 0, 0))  # locks
            await require_upload_limit(tx, settings, intent)
        deadline = self._deadline(intent, tx.now)
        await intent_queries.parts_renew(tx.connection, self.intent_id, deadline, IN_PARTS, tx.now + LEASE)
        return upload, part

    async def _renewing(self, content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the same bytes, and go on holding the upload. An intent that has ended takes no more of them."""
        renewed = self.platform.clock()
        async for chunk in content:
            if self.platform.clock() - renewed > RENEWED_AFTER:
                renewed = self.platform.clock()
                async with self.platform.transaction(self.scope, self.actor) as tx:
                    is_open = await intent_queries.parts_renew(
                        tx.connection, self.intent_id, tx.now, IN_PARTS, tx.now + LEASE
                    )
                if not is_open:
                    raise Problem("conflict", "The intent is no longer open: the bytes arrived too late.")
            yield chunk

    async def _move_deadline(self, intent: PublishIntentRow) -> datetime:
        async with self.platform.transaction(self.scope, self.actor) as tx:
            deadline = self._deadline(intent, tx.now)
            if not await intent_queries.parts_renew(tx.connection, self.intent_id, deadline, None, None):
                raise Problem("conflict", "The intent is no longer open.")
        return deadline

    def _deadline(self, intent: PublishIntentRow, now: datetime) -> datetime:
        return parts_deadline(intent.created_at, now, timedelta(hours=self.platform.settings.upload_grace_hours))

    def _document(self, upload: PartedUpload, part: Part, received: bool) -> UploadPart:
        ticket = None
        if not received:
            store = backends.blob_store(self.platform.settings)
            ticket = publish_intents.ticket_document(store.part_ticket(upload, part, TICKET_SECONDS))
        return UploadPart(
            number=part.number, offset=part.offset, size_bytes=part.size_bytes, received=received, upload=ticket
        )


def _require_parts(intent: PublishIntentRow) -> None:
    if intent.part_bytes is None:
        raise Problem("conflict", "The blob of this intent is sent as a whole, to its upload URL.")
