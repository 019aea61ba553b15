"""The reconciler that completes a publish intent.

Bytes are read in `act`, outside any transaction, and may take long; what is stored is in `apply`.
"""

from dataclasses import replace
from datetime import datetime

from gpuaas_server.artifacts import backends, intent_queries, publish_intents, queries, service
from gpuaas_server.artifacts.external_images import ExternalImage, check_external, external_registry
from gpuaas_server.artifacts.machine import (
    RETRY_PAUSE,
    IntentState,
    IntentStep,
    check_limit,
    next_step,
)
from gpuaas_server.artifacts.rows import ArtifactRow, PublishIntentRow
from gpuaas_server.artifacts.stages import Stage, Trust
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import ArtifactUse
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.failures import Failure
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases

# The bytes cannot be reached now; everything else that a reading raises is about the bytes.
UNAVAILABLE_CODES = frozenset(
    {
        "storage_unavailable",
        "registry_unavailable",
        "registry_not_configured",
        "secret_store_unavailable",
        "upload_in_progress",
    }
)
# The bytes cannot be read until somebody changes something; nothing is known about them either.
UNREADABLE = UNAVAILABLE_CODES | {"registry_denied", "registry_not_allowed", "registry_untrusted", "secret_unreadable"}


@dataclass(frozen=True, slots=True)
class Bytes:
    """The published bytes, as measured when all of them were read."""

    digest: str
    location: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class IntentSnapshot:
    intent: PublishIntentRow
    is_artifact: bool  # whether the project has an artifact with the intent's digest


@dataclass(frozen=True, slots=True)
class IntentOutcome:
    step: IntentStep
    content: Bytes | None = None
    failure: Failure | None = None


def failure_of(problem: Problem) -> Failure:
    kind = problem.kind
    return Failure(kind.code, problem.detail or kind.title, kind.next_step, kind.retryable)


async def read_published(platform: Platform, intent: PublishIntentRow) -> Bytes:
    """Read every byte of what the intent says was published; raise a Problem when it is something else."""
    if intent.digest is None:
        raise Problem("upload_missing", "No digest was registered.")
    if intent.registry is not None and intent.repository is not None:
        external = ExternalImage(intent.registry, intent.repository, intent.digest, intent.pull_secret_id)
        async with external_registry(platform, external) as registry:
            image = await check_external(registry, platform.settings, external)
        return Bytes(intent.digest, intent.repository, image.media_type, image.size_bytes)
    if intent.kind == "oci":
        repository = publish_intents.repository_of(intent.project_id, intent.name)
        found = await (await backends.registry(platform)).check_image(repository, intent.digest)
        if found is None:
            raise Problem("upload_missing", f"The registry has no manifest {intent.digest} in {repository}.")
        return Bytes(intent.digest, repository, found.media_type, found.size_bytes)
    store = backends.blob_store(platform.settings)
    upload = publish_intents.upload_in_parts(intent)
    key = await (store.settle(intent.project_id, intent.id) if upload is None else store.join_parts(upload))
    measured = None if key is None else await store.measure(key)
    if key is None or measured is None:
        raise Problem("upload_missing", "No bytes were uploaded.")
    if measured.digest != intent.digest:
        raise Problem("digest_mismatch", f"The bytes are {measured.digest}, not {intent.digest}.")
    if intent.size_bytes not in (None, measured.size_bytes):
        detail = f"There are {measured.size_bytes} bytes, not {intent.size_bytes}."
        raise Problem("digest_mismatch", detail)
    return Bytes(intent.digest, key, intent.media_type, measured.size_bytes)


class PublishIntentReconciler:
    kind = publish_intents.WORK

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def load(self, connection: Connection, subject: str) -> IntentSnapshot | None:
        intent = await intent_queries.intent_load(connection, subject)
        if intent is None:
            return None
        known = None
        if intent.digest is not None:
            known = await queries.artifact_by_digest(connection, intent.project_id, intent.digest)
        return IntentSnapshot(intent, known is not None)

    def decide(self, snapshot: IntentSnapshot, now: datetime) -> IntentOutcome:
        return IntentOutcome(next_step(IntentState(snapshot.intent.state), snapshot.intent.deadline_at, now))

    async def act(self, platform: Platform, snapshot: IntentSnapshot, decision: IntentOutcome) -> IntentOutcome:
        if decision.step is IntentStep.DISCARD:
            await self._discard(platform, snapshot)
        if decision.step is not IntentStep.VERIFY:
            return decision
        try:
            return IntentOutcome(IntentStep.VERIFY, content=await read_published(platform, snapshot.intent))
        except Problem as problem:
            return IntentOutcome(IntentStep.VERIFY, failure=failure_of(problem))

    async def _discard(self, platform: Platform, snapshot: IntentSnapshot) -> None:
        """Remove what did not become an artifact. An image that is one already keeps its manifest."""
        intent = snapshot.intent
        if intent.registry is not None:
            return
        if intent.kind == "blob":
            await backends.blob_store(platform.settings).discard(intent.project_id, intent.id)
        elif intent.digest is not None and not snapshot.is_artifact and backends.registry_url(platform.settings):
            repository = publish_intents.repository_of(intent.project_id, intent.name)
            await (await backends.registry(platform)).discard(repository, intent.digest)

    async def apply(self, tx: Tx, snapshot: IntentSnapshot, decision: IntentOutcome) -> datetime | None:
        intent = snapshot.intent
        if decision.step is IntentStep.WAIT:
            return intent.deadline_at
        if decision.step is IntentStep.EXPIRE:
            return await self._end(tx, intent, IntentState.EXPIRED, failure_of(Problem("publish_expired")))
        if decision.step is IntentStep.GIVE_UP:
            stored = intent.failure or failure_of(Problem("deadline_exceeded")).document()
            return await self._end(tx, intent, IntentState.FAILED, Failure(**stored))
        if decision.step is not IntentStep.VERIFY:
            return None
        if decision.content is not None:
            return await self._register(tx, intent, decision.content)
        failure = decision.failure or failure_of(Problem("internal"))
        if failure.code in UNAVAILABLE_CODES:
            await intent_queries.intent_store_failure(tx.connection, intent.id, failure.document())
            return tx.now + RETRY_PAUSE
        return await self._end(tx, intent, IntentState.FAILED, failure)

    def _use(self, intent: PublishIntentRow, content: Bytes) -> ArtifactUse:
        """Return what the artifact needs beyond what the intent has reserved."""
        reserved = intent.reserved_bytes if intent.quota_reserved else 0
        artifacts = 0 if intent.quota_reserved else 1
        stored = content.size_bytes if intent.registry is None else 0
        return ArtifactUse(intent.tenant_id, intent.project_id, artifacts, stored - reserved)

    async def _register(self, tx: Tx, intent: PublishIntentRow, content: Bytes) -> datetime | None:
        use = self._use(intent, content)
        refusal = await capacity.count_artifacts(tx, self._settings, use)
        if refusal is not None:
            return await self._end(tx, intent, IntentState.FAILED, failure_of(refusal))
        artifact = _new_artifact(intent, content, tx.now)
        if not await queries.artifact_insert(tx.connection, artifact):
            undone = replace(use, artifacts=-use.artifacts, size_bytes=-use.size_bytes)
            await capacity.count_artifacts(tx, self._settings, undone)
            if await self._renew_credential(tx, intent):
                return None
            failure = failure_of(Problem("already_exists", "The project has an artifact with this digest."))
            return await self._end(tx, intent, IntentState.FAILED, failure)
        await intent_queries.intent_end(
            tx.connection, intent.id, IntentState.REGISTERED, tx.now, artifact_id=artifact.id
        )
        await leases.enqueue(tx, service.CHECK, [artifact.id], flow=artifact.tenant_id)
        resource = (artifact.id, artifact.tenant_id, artifact.project_id)
        details: dict[str, object] = {"digest": artifact.digest, "intent": intent.id, "by": intent.created_by}
        await audit.record(tx, AuditEntry("artifact_register", *resource, details=details))
        data: dict[str, object] = {"digest": artifact.digest, "name": artifact.name}
        await events.emit(tx, NewEvent("artifact.registered", *resource, data))
        return None

    async def _renew_credential(self, tx: Tx, intent: PublishIntentRow) -> bool:
        """Give the artifact of the same external image the intent's credential, with which it was just read."""
        known = await queries.artifact_by_digest(tx.connection, intent.project_id, intent.digest or "", lock=True)
        here = (intent.registry, intent.repository)
        if known is None or known.registry is None or (known.registry, known.location) != here or known.deleting_since:
            return False
        ended = await intent_queries.intent_end(
            tx.connection, intent.id, IntentState.REGISTERED, tx.now, artifact_id=known.id
        )
        if ended is None:
            return True
        await publish_intents.give_back_quota(tx, self._settings, ended)
        await queries.artifact_set_credential(
            tx.connection, known.id, intent.pull_secret_id, tx.now + check_limit(known.size_bytes)
        )
        await publish_intents.destroy_credential(tx, known.pull_secret_id)
        await leases.enqueue(tx, service.CHECK, [known.id], flow=known.tenant_id)
        resource = (known.id, known.tenant_id, known.project_id)
        details: dict[str, object] = {
            "intent": intent.id,
            "by": intent.created_by,
            "credential": bool(intent.pull_secret_id),
        }
        await audit.record(tx, AuditEntry("artifact_renew_credential", *resource, details=details))
        await events.emit(tx, service.changed(known))
        return True

    async def _end(self, tx: Tx, intent: PublishIntentRow, state: IntentState, failure: Failure) -> datetime | None:
        """End the intent, and come back at once: the next step discards the bytes."""
        ended = await intent_queries.intent_end(tx.connection, intent.id, state, tx.now, failure.document())
        if ended is None:
            return None
        await publish_intents.give_back_quota(tx, self._settings, ended)
        await publish_intents.destroy_credential(tx, ended.pull_secret_id)
        resource = (intent.id, intent.tenant_id, intent.project_id)
        entry = AuditEntry(
            "publish_intent_end", *resource, outcome="failed", details={"state": state, "code": failure.code}
        )
        await audit.record(tx, entry)
        data: dict[str, object] = {"state": state, "code": failure.code}
        await events.emit(tx, NewEvent("publish_intent.changed", *resource, data))
        return tx.now


def _new_artifact(intent: PublishIntentRow, content: Bytes, now: datetime) -> ArtifactRow:
    """Return the artifact of a verified intent, as a draft whose first check is requested."""
    return ArtifactRow(
        id=new_id("art"),
        tenant_id=intent.tenant_id,
        project_id=intent.project_id,
        kind=intent.kind,
        name=intent.name,
        digest=content.digest,
        size_bytes=content.size_bytes,
        media_type=content.media_type,
        location=content.location,
        stage=Stage.DRAFT,
        stage_since=now,
        trust=Trust.UNVERIFIED,
        trust_detail="not checked yet",
        created_by=intent.created_by,
        created_at=now,
        signed_by=[],
        signatures=[],
        check_until=now + check_limit(content.size_bytes),
        registry=intent.registry,
        pull_secret_id=intent.pull_secret_id,
    )
