"""Publish intents: an intent announces an artifact, the bytes go straight to their store, and their digest is registered."""

from datetime import datetime, timedelta

from gpuaas_server.artifacts import backends, intent_queries, queries
from gpuaas_server.artifacts.external_images import parse_reference, registry_scheme
from gpuaas_server.artifacts.machine import EXTERNAL_LIMIT, IntentState, check_limit
from gpuaas_server.artifacts.parts import LARGEST_REQUEST, Layout, PartedUpload, part_bytes_for
from gpuaas_server.artifacts.rows import PublishIntentRow
from gpuaas_server.artifacts.schemas import (
    ArtifactAnnouncement,
    ExternalImageCreate,
    PublishIntent,
    PublishIntentComplete,
    PushTarget,
    UploadTicket,
)
from gpuaas_server.artifacts.stores import Ticket
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
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import PreparedSecret
from gpuaas_server.work import leases

WORK = "publish_intent"
MAX_OPEN = 50


def repository_of(project_id: str, name: str) -> str:
    return f"{project_id}/{name}"


async def publish_intent_create(
    tx: Tx, settings: Settings, body: ArtifactAnnouncement, caller: Caller
) -> PublishIntent:
    if body.kind == "oci":
        backends.require_registry(settings)
    if body.size_bytes is not None and body.size_bytes > settings.artifact_max_bytes:
        raise Problem("body_too_large", f"An artifact may have at most {settings.artifact_max_bytes} bytes.")
    if body.digest is not None:
        await _require_new_blob(tx.connection, caller.project_id, body.kind, body.digest)
    part_bytes = part_bytes_for(settings, body.size_bytes) if body.kind == "blob" else None
    minutes = settings.publish_minutes if part_bytes is None else 60 * settings.upload_grace_hours
    row = PublishIntentRow(
        id=new_id("pub"),
        tenant_id=caller.tenant_id,
        project_id=caller.project_id,
        kind=body.kind,
        name=body.name,
        media_type=body.media_type,
        size_bytes=body.size_bytes,
        state=IntentState.OPEN,
        deadline_at=tx.now + timedelta(minutes=minutes),
        created_by=tx.actor.id,
        correlation_id=tx.actor.correlation_id,
        created_at=tx.now,
        quota_reserved=True,
        reserved_bytes=reserved_at_first(settings, body),
        digest=body.digest,
        part_bytes=part_bytes,
    )
    await _insert(tx, settings, row)
    await leases.enqueue(tx, WORK, [row.id], run_at=row.deadline_at, flow=caller.tenant_id)
    await _record(tx, "publish_intent_create", row, {"kind": body.kind, "name": body.name})
    return intent_document(row, settings, caller, tx.now.timestamp())


async def publish_intent_refer(
    tx: Tx,
    settings: Settings,
    caller: Caller,
    body: ExternalImageCreate,
    credential: PreparedSecret | None,
) -> PublishIntent:
    """Register an image of an external registry. It is there already: its check begins at once."""
    tenant_id, project_id = caller.tenant_id, caller.project_id
    image = parse_reference(body.reference)
    registry_scheme(settings, image.registry)
    if credential is not None:
        await secrets.secret_store(tx, credential)
    row = PublishIntentRow(
        id=new_id("pub"),
        tenant_id=tenant_id,
        project_id=project_id,
        kind="oci",
        name=body.name,
        media_type="application/octet-stream",
        size_bytes=None,
        state=IntentState.VERIFYING,
        deadline_at=tx.now + EXTERNAL_LIMIT,
        created_by=tx.actor.id,
        correlation_id=tx.actor.correlation_id,
        created_at=tx.now,
        quota_reserved=True,
        reserved_bytes=0,
        digest=image.digest,
        registry=image.registry,
        repository=image.repository,
        pull_secret_id=None if credential is None else credential.ref.secret_id,
    )
    await _insert(tx, settings, row)
    await leases.enqueue(tx, WORK, [row.id], flow=tenant_id)
    details: dict[str, object] = {"reference": body.reference, "name": body.name, "credential": credential is not None}
    await _record(tx, "publish_intent_refer", row, details)
    return intent_document(row, settings, caller, None)


async def _insert(tx: Tx, settings: Settings, row: PublishIntentRow) -> None:
    """Keep a new intent with its part of the quotas."""
    if await intent_queries.open_intent_count(tx.connection, row.project_id) >= MAX_OPEN:
        raise Problem("conflict", f"The project has {MAX_OPEN} open publish intents: finish or cancel some.")
    use = ArtifactUse(row.tenant_id, row.project_id, 1, row.reserved_bytes)
    refusal = await capacity.count_artifacts(tx, settings, use)
    if refusal is not None:
        raise refusal
    await intent_queries.intent_insert(tx.connection, row)


async def _require_new_blob(connection: Connection, project_id: str, kind: str, digest: str) -> None:
    """Refuse bytes that the project already has, before they are sent. An image's digest is known only after its push."""
    if kind != "blob":
        raise Problem("invalid_request", "body.digest: Only a blob can be announced with its digest.")
    if await queries.artifact_by_digest(connection, project_id, digest) is not None:
        raise Problem("already_exists", "The project has an artifact with this digest.")


async def publish_intent_list(
    connection: Connection,
    settings: Settings,
    digest: str | None,
    page: PageRequest,
    caller: Caller,
) -> Page[PublishIntent]:
    """List the intents without upload tickets: a publisher asks for one by the intent's id."""
    rows = await intent_queries.intent_list(connection, caller.project_id, digest, page)
    return Page[PublishIntent].of([intent_document(row, settings, caller, None) for row in rows], page)


async def publish_intent_show(
    connection: Connection, settings: Settings, intent_id: str, caller: Caller, now: float
) -> PublishIntent:
    row = present(await intent_queries.intent_show(connection, caller.project_id, intent_id), intent_id)
    may_publish = bool(identity.allowed_actions(caller, ("publish_intent_complete",)))
    return intent_document(row, settings, caller, now if may_publish else None)


def reserved_at_first(settings: Settings, body: ArtifactAnnouncement) -> int:
    """Return how many bytes an intent reserves when it is created: what was announced.

    Bytes that come through the API are counted as they come. Those that go straight to a bucket are not seen on their
    way, so that an unknown number is taken for the largest. An image is counted when it is checked.
    """
    if body.size_bytes is not None:
        return body.size_bytes
    largest = min(settings.artifact_max_bytes, LARGEST_REQUEST)
    return largest if body.kind == "blob" and settings.s3_bucket_url else 0


async def destroy_credential(tx: Tx, secret_id: str | None) -> None:
    """Destroy the credential of an external registry. Nobody can open it from the commit on."""
    if secret_id is not None:
        await secrets.secret_destroy(tx, secret_id, 1)


async def give_back_quota(tx: Tx, settings: Settings, ended: PublishIntentRow) -> None:
    """Give back the quota of an intent that ended in this transaction and did not become an artifact."""
    if ended.quota_reserved:
        use = ArtifactUse(ended.tenant_id, ended.project_id, -1, -ended.reserved_bytes)
        await capacity.count_artifacts(tx, settings, use)


def require_open_blob(row: PublishIntentRow) -> None:
    """Refuse bytes for an intent that does not take them."""
    if row.state != IntentState.OPEN or row.kind != "blob":
        raise Problem("conflict", f"The intent is {row.state} and of kind {row.kind}: it takes no bytes.")


def upload_in_parts(row: PublishIntentRow) -> PartedUpload | None:
    """Return the upload in parts of this intent, if it has begun."""
    if row.size_bytes is None or row.part_bytes is None or row.parts_name is None:
        return None
    return PartedUpload(row.project_id, row.id, row.parts_name, Layout(row.size_bytes, row.part_bytes))


async def content_received(tx: Tx, intent: PublishIntentRow, digest: str, size_bytes: int) -> None:
    await _record(tx, "publish_intent_upload", intent, {"digest": digest, "size_bytes": size_bytes})


async def publish_intent_complete(
    tx: Tx, settings: Settings, intent_id: str, body: PublishIntentComplete, caller: Caller
) -> PublishIntent:
    """Start the verification: the bytes are read and hashed, and the artifact exists when they have the digest."""
    row = present(await intent_queries.intent_lock(tx.connection, caller.project_id, intent_id), intent_id)
    if row.state == IntentState.VERIFYING and row.digest == body.digest:
        tx.audited = True  # said before, and nothing is changed by saying it again
        return intent_document(row, settings, caller, None)
    if row.state != IntentState.OPEN:
        raise Problem("conflict", f"The intent is {row.state}.")
    if row.digest not in (None, body.digest):
        raise Problem("digest_mismatch", f"The intent was announced with the digest {row.digest}.")
    until = tx.now + check_limit(max(row.size_bytes or 0, row.reserved_bytes))
    row = await intent_queries.intent_start_verification(tx.connection, intent_id, body.digest, until)
    await leases.enqueue(tx, WORK, [intent_id])
    await _record(tx, "publish_intent_complete", row, {"digest": body.digest})
    return intent_document(row, settings, caller, None)


async def publish_intent_cancel(tx: Tx, settings: Settings, intent_id: str, caller: Caller) -> PublishIntent:
    row = present(await intent_queries.intent_lock(tx.connection, caller.project_id, intent_id), intent_id)
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
            upload = None if ticket is None else ticket_document(ticket)
        elif backends.registry_url(settings):
            repository = repository_of(row.project_id, row.name)
            push = PushTarget(registry=backends.registry_host(settings), repository=repository)
    verbs: tuple[str, ...] = ()
    if is_open:
        verbs = ("publish_intent_upload", "publish_intent_complete", "publish_intent_cancel")
        verbs += () if row.part_bytes is None else ("publish_intent_parts", "publish_intent_upload_part")
    actions = identity.allowed_actions(caller, verbs)
    return PublishIntent(**fields_of(row), reference=row.reference, upload=upload, push=push, allowed_actions=actions)


def ticket_document(ticket: Ticket) -> UploadTicket:
    return UploadTicket(method=ticket.method, url=ticket.url, authorised=ticket.authorised, headers=ticket.headers)


def present(row: PublishIntentRow | None, intent_id: str) -> PublishIntentRow:
    if row is None:
        raise not_found("publish intent", intent_id)
    return row
