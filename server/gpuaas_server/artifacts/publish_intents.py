"""Publish intents: an intent announces an artifact, the bytes go straight to their store, and their digest is registered."""

from datetime import datetime, timedelta

from gpuaas_server.artifacts import backends, intent_queries
from gpuaas_server.artifacts.machine import VERIFY_LIMIT, IntentState
from gpuaas_server.artifacts.rows import PublishIntentRow
from gpuaas_server.artifacts.schemas import (
    PublishIntent,
    PublishIntentComplete,
    PublishIntentCreate,
    RegistryPlace,
    UploadTicket,
)
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import ArtifactUse
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases

WORK = "publish_intent"
MAX_OPEN = 50


def repository_of(project_id: str, name: str) -> str:
    return f"{project_id}/{name}"


async def publish_intent_create(
    tx: Tx, settings: Settings, tenant_id: str, project_id: str, body: PublishIntentCreate, caller: Caller
) -> PublishIntent:
    if body.kind == "oci":
        backends.require_registry(settings)
    if body.size_bytes is not None and body.size_bytes > settings.artifact_max_bytes:
        raise Problem("body_too_large", f"An artifact may have {settings.artifact_max_bytes} bytes.")
    if await intent_queries.open_intent_count(tx.connection, project_id) >= MAX_OPEN:
        raise Problem("conflict", f"The project has {MAX_OPEN} open publish intents: finish or cancel some.")
    reserved = reserved_at_first(settings, body)
    refusal = await capacity.count_artifacts(tx, settings, ArtifactUse(tenant_id, project_id, 1, reserved))
    if refusal is not None:
        raise refusal
    deadline = tx.now + timedelta(minutes=settings.publish_minutes)
    row = PublishIntentRow(
        id=new_id("pub"),
        tenant_id=tenant_id,
        project_id=project_id,
        kind=body.kind,
        name=body.name,
        media_type=body.media_type,
        size_bytes=body.size_bytes,
        state=IntentState.OPEN,
        deadline_at=deadline,
        created_by=tx.actor.id,
        correlation_id=tx.actor.correlation_id,
        created_at=tx.now,
        quota_held=True,
        reserved_bytes=reserved,
    )
    await intent_queries.intent_insert(tx.connection, row)
    await leases.enqueue(tx, WORK, [row.id], run_at=deadline, flow=tenant_id)
    await _record(tx, "publish_intent_create", row, {"kind": body.kind, "name": body.name})
    return intent_document(row, settings, caller, tx.now.timestamp())


async def publish_intent_list(
    connection: Connection, settings: Settings, project_id: str, after: str | None, limit: int, caller: Caller
) -> Page[PublishIntent]:
    """List the intents without upload tickets: a publisher asks for one by the intent's id."""
    rows = await intent_queries.intent_list(connection, project_id, after, limit + 1)
    return Page[PublishIntent].of([intent_document(row, settings, caller, None) for row in rows], limit)


async def publish_intent_show(
    connection: Connection, settings: Settings, project_id: str, intent_id: str, caller: Caller, now: float
) -> PublishIntent:
    row = present(await intent_queries.intent_show(connection, project_id, intent_id), intent_id)
    may_publish = bool(identity.allowed_actions(caller, ("publish_intent_complete",)))
    return intent_document(row, settings, caller, now if may_publish else None)


def reserved_at_first(settings: Settings, body: PublishIntentCreate) -> int:
    """Return how many bytes an intent reserves when it is created: what was announced.

    Bytes that come through the API are counted as they come. Those that go straight to a bucket are not seen on their
    way, so that an unknown number is taken for the largest. An image is counted when it is checked.
    """
    if body.size_bytes is not None:
        return body.size_bytes
    return settings.artifact_max_bytes if body.kind == "blob" and settings.s3_bucket_url else 0


async def give_back_quota(tx: Tx, settings: Settings, ended: PublishIntentRow) -> None:
    """Give back the quota of an intent that ended in this transaction and did not become an artifact."""
    if ended.quota_held:
        use = ArtifactUse(ended.tenant_id, ended.project_id, -1, -ended.reserved_bytes)
        await capacity.count_artifacts(tx, settings, use)


def require_open_blob(row: PublishIntentRow) -> None:
    """Refuse bytes for an intent that does not take them."""
    if row.state != IntentState.OPEN or row.kind != "blob":
        raise Problem("conflict", f"The intent is {row.state} and of kind {row.kind}: it takes no bytes.")


async def content_received(tx: Tx, intent: PublishIntentRow, digest: str, size_bytes: int) -> None:
    await _record(tx, "publish_intent_upload", intent, {"digest": digest, "size_bytes": size_bytes})


async def publish_intent_complete(
    tx: Tx, settings: Settings, project_id: str, intent_id: str, body: PublishIntentComplete, caller: Caller
) -> PublishIntent:
    """Start the verification: the bytes are read and hashed, and the artifact exists when they have the digest."""
    row = present(await intent_queries.intent_lock(tx.connection, project_id, intent_id), intent_id)
    if row.state == IntentState.VERIFYING and row.digest == body.digest:
        tx.audited = True  # said before, and nothing is changed by saying it again
        return intent_document(row, settings, caller, None)
    if row.state != IntentState.OPEN:
        raise Problem("conflict", f"The intent is {row.state}.")
    row = await intent_queries.intent_start_verification(tx.connection, intent_id, body.digest, tx.now + VERIFY_LIMIT)
    await leases.enqueue(tx, WORK, [intent_id])
    await _record(tx, "publish_intent_complete", row, {"digest": body.digest})
    return intent_document(row, settings, caller, None)


async def publish_intent_cancel(
    tx: Tx, settings: Settings, project_id: str, intent_id: str, caller: Caller
) -> PublishIntent:
    row = present(await intent_queries.intent_lock(tx.connection, project_id, intent_id), intent_id)
    if row.state != IntentState.OPEN:
        raise Problem("conflict", f"The intent is {row.state}.")
    ended = await intent_queries.intent_end(tx.connection, intent_id, IntentState.CANCELLED, tx.now)
    if ended is not None:
        await give_back_quota(tx, settings, ended)
    await leases.enqueue(tx, WORK, [intent_id])  # its bytes go
    await _record(tx, "publish_intent_cancel", row, {})
    return intent_document(ended or row, settings, caller, None)


async def intents_forget(tx: Tx, before: datetime, portion: int) -> int:
    """Delete intents that ended before then; their artifacts stay."""
    return await intent_queries.intents_delete_before(tx.connection, before, portion)


async def _record(tx: Tx, action: str, row: PublishIntentRow, details: dict[str, object]) -> None:
    await audit.record(tx, AuditEntry(action, row.id, row.tenant_id, row.project_id, details=details))
    data: dict[str, object] = {"state": row.state, "name": row.name}
    await events.emit(tx, NewEvent("publish_intent.changed", row.id, row.tenant_id, row.project_id, data))


def intent_document(row: PublishIntentRow, settings: Settings, caller: Caller, now: float | None) -> PublishIntent:
    """Build the answer. With `now` it has a ticket for the upload, valid from then until the intent's deadline."""
    is_open = row.state == IntentState.OPEN
    upload, push = None, None
    if is_open and now is not None:
        if row.kind == "blob" and row.deadline_at is not None:
            seconds = max(1, int(row.deadline_at.timestamp() - now))
            ticket = backends.blob_store(settings).upload_ticket(row.project_id, row.id, seconds, row.size_bytes)
            upload = UploadTicket(
                method=ticket.method, url=ticket.url, authorised=ticket.authorised, headers=ticket.headers
            )
        elif backends.registry_url(settings):
            repository = repository_of(row.project_id, row.name)
            push = RegistryPlace(registry=backends.registry_host(settings), repository=repository)
    verbs = ("publish_intent_upload", "publish_intent_complete", "publish_intent_cancel") if is_open else ()
    return PublishIntent(
        **fields_of(row), upload=upload, push=push, allowed_actions=identity.allowed_actions(caller, verbs)
    )


def present(row: PublishIntentRow | None, intent_id: str) -> PublishIntentRow:
    if row is None:
        raise not_found("publish intent", intent_id)
    return row
