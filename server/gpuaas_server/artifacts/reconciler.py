"""The worker's two machines of this room: what becomes of a publish intent, and what a check of an artifact finds.

Bytes are read in `act`, outside any transaction, and may take long; what is stored is in `apply`.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.artifacts import intent_queries, places, publishing, queries, service
from gpuaas_server.artifacts.machine import (
    CHECK_LIMIT,
    RETRY_PAUSE,
    Failure,
    Findings,
    IntentState,
    IntentStep,
    TrustVerdict,
    next_step,
    verdict,
)
from gpuaas_server.artifacts.oci import Registry
from gpuaas_server.artifacts.signatures import TrustedKey, blob_signers, decode_signature, read_key, signers
from gpuaas_server.artifacts.stages import Trust
from gpuaas_server.artifacts.users import artifact_users
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import quotas
from gpuaas_server.capacity.quotas import ArtifactUse
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases

# The bytes cannot be reached now; everything else that a reading raises is about the bytes.
AWAY = frozenset({"storage_unavailable", "registry_unavailable", "registry_not_configured"})


@dataclass(frozen=True, slots=True)
class Bytes:
    """What was published, read whole."""

    location: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class IntentOutcome:
    step: IntentStep
    content: Bytes | None = None
    failure: Failure | None = None


def failure_of(problem: Problem) -> Failure:
    kind = problem.kind
    return Failure(kind.code, problem.detail or kind.title, kind.next_step, kind.retryable)


async def read_published(platform: Platform, intent: DictRow) -> Bytes:
    """Read every byte of what the intent says was published; a Problem when it is not that."""
    if intent["kind"] == "oci":
        repository = publishing.repository_of(intent["project_id"], intent["name"])
        image = await (await places.registry(platform)).check_image(repository, intent["digest"])
        if image is None:
            raise Problem("upload_missing", f"The registry has no manifest {intent['digest']} in {repository}.")
        return Bytes(repository, image.media_type, image.size_bytes)
    store = places.blob_store(platform.settings)
    key = await store.settle(intent["project_id"], intent["id"])
    measured = None if key is None else await store.measure(key)
    if key is None or measured is None:
        raise Problem("upload_missing", "No bytes were uploaded.")
    if measured.digest != intent["digest"]:
        raise Problem("digest_mismatch", f"The bytes are {measured.digest}, not {intent['digest']}.")
    if intent["size_bytes"] not in (None, measured.size_bytes):
        detail = f"There are {measured.size_bytes} bytes, not {intent['size_bytes']}."
        raise Problem("digest_mismatch", detail)
    return Bytes(key, intent["media_type"], measured.size_bytes)


class PublishIntentMachine:
    kind = publishing.WORK

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def load(self, connection: Connection, subject: str) -> DictRow | None:
        intent = await intent_queries.intent_load(connection, subject)
        if intent is None or intent["digest"] is None:
            return intent
        known = await queries.artifact_by_digest(connection, intent["project_id"], intent["digest"])
        return {**intent, "is_artifact": known is not None}

    def decide(self, snapshot: DictRow, now: datetime) -> IntentOutcome:
        return IntentOutcome(next_step(IntentState(snapshot["state"]), snapshot["deadline_at"], now))

    async def act(self, platform: Platform, snapshot: DictRow, decision: IntentOutcome) -> IntentOutcome:
        if decision.step is IntentStep.DISCARD:
            await self._discard(platform, snapshot)
        if decision.step is not IntentStep.VERIFY:
            return decision
        try:
            return IntentOutcome(IntentStep.VERIFY, content=await read_published(platform, snapshot))
        except Problem as problem:
            return IntentOutcome(IntentStep.VERIFY, failure=failure_of(problem))

    async def _discard(self, platform: Platform, intent: DictRow) -> None:
        """Nothing is left of what did not become an artifact. An image that is one already keeps its manifest."""
        if intent["kind"] == "blob":
            await places.blob_store(platform.settings).discard(intent["project_id"], intent["id"])
        elif not intent.get("is_artifact", True) and places.registry_url(platform.settings):
            repository = publishing.repository_of(intent["project_id"], intent["name"])
            await (await places.registry(platform)).discard(repository, intent["digest"])

    async def apply(self, tx: Tx, snapshot: DictRow, decision: IntentOutcome) -> datetime | None:
        if decision.step is IntentStep.WAIT:
            waits_until: datetime = snapshot["deadline_at"]
            return waits_until
        if decision.step is IntentStep.EXPIRE:
            return await self._ended(tx, snapshot, IntentState.EXPIRED, failure_of(Problem("publish_expired")))
        if decision.step is IntentStep.GIVE_UP:
            stored = snapshot["failure"] or failure_of(Problem("deadline_exceeded")).document()
            return await self._ended(tx, snapshot, IntentState.FAILED, Failure(**stored))
        if decision.step is not IntentStep.VERIFY:
            return None
        if decision.content is not None:
            return await self._register(tx, snapshot, decision.content)
        failure = decision.failure or failure_of(Problem("internal"))
        if failure.code in AWAY:
            await intent_queries.intent_delayed(tx.connection, snapshot["id"], dict(failure.document()))
            return tx.now + RETRY_PAUSE
        return await self._ended(tx, snapshot, IntentState.FAILED, failure)

    def _use(self, intent: DictRow, content: Bytes) -> ArtifactUse:
        """What the artifact needs beyond what the intent holds."""
        held = intent["quota_held"]
        more = content.size_bytes - (intent["reserved_bytes"] if held else 0)
        return ArtifactUse(intent["tenant_id"], intent["project_id"], 0 if held else 1, more)

    async def _register(self, tx: Tx, intent: DictRow, content: Bytes) -> datetime | None:
        use = self._use(intent, content)
        refusal = await quotas.count_artifacts(tx, self._settings, use)
        if refusal is not None:
            return await self._ended(tx, intent, IntentState.FAILED, failure_of(refusal))
        made = await queries.artifact_insert(
            tx.connection,
            {
                "id": new_id("art"),
                "tenant_id": intent["tenant_id"],
                "project_id": intent["project_id"],
                "kind": intent["kind"],
                "name": intent["name"],
                "digest": intent["digest"],
                "size_bytes": content.size_bytes,
                "media_type": content.media_type,
                "location": content.location,
                "created_by": intent["created_by"],
                "now": tx.now,
            },
        )
        if made is None:
            undone = replace(use, artifacts=-use.artifacts, size_bytes=-use.size_bytes)
            await quotas.count_artifacts(tx, self._settings, undone)
            failure = failure_of(Problem("already_exists", "The project has an artifact with this digest."))
            return await self._ended(tx, intent, IntentState.FAILED, failure)
        await intent_queries.intent_end(
            tx.connection, intent["id"], IntentState.REGISTERED, tx.now, artifact_id=made["id"]
        )
        await leases.enqueue(tx, service.CHECK, [made["id"]], flow=made["tenant_id"])
        await queries.artifacts_check_wanted(tx.connection, [made["id"]], tx.now + CHECK_LIMIT)
        place = (made["id"], made["tenant_id"], made["project_id"])
        details: dict[str, object] = {"digest": made["digest"], "intent": intent["id"], "by": intent["created_by"]}
        await audit.record(tx, AuditEntry("artifact_register", *place, details=details))
        await events.emit(tx, NewEvent("artifact.registered", *place, {"digest": made["digest"], "name": made["name"]}))
        return None

    async def _ended(self, tx: Tx, intent: DictRow, state: IntentState, failure: Failure) -> datetime | None:
        """Once more at once: the next step discards the bytes."""
        document = dict(failure.document())
        ended = await intent_queries.intent_end(tx.connection, intent["id"], state, tx.now, document)
        if ended is None:
            return None
        await publishing.give_back_quota(tx, self._settings, ended)
        place = (intent["id"], intent["tenant_id"], intent["project_id"])
        entry = AuditEntry(
            "publish_intent_end", *place, outcome="failed", details={"state": state, "code": failure.code}
        )
        await audit.record(tx, entry)
        data: dict[str, object] = {"state": state, "code": failure.code}
        await events.emit(tx, NewEvent("publish_intent.changed", *place, data))
        return tx.now


@dataclass(frozen=True, slots=True)
class ToCheck:
    artifact: DictRow
    keys: list[TrustedKey]


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    verdict: TrustVerdict | None = None
    failure: Failure | None = None  # the bytes could not be reached


class ArtifactCheckMachine:
    kind = service.CHECK

    async def load(self, connection: Connection, subject: str) -> ToCheck | None:
        artifact = await queries.artifact_load(connection, subject)
        if artifact is None:
            return None
        rows = await queries.keys_of(connection, artifact["tenant_id"])
        return ToCheck(artifact, [read_key(row["public_key"]) for row in rows if row["revoked_at"] is None])

    def decide(self, snapshot: ToCheck, now: datetime) -> CheckOutcome:
        return CheckOutcome()

    async def act(self, platform: Platform, snapshot: ToCheck, decision: CheckOutcome) -> CheckOutcome:
        before = Trust(snapshot.artifact["trust"])
        if before is Trust.REVOKED:
            held = frozenset(snapshot.artifact["signed_by"])
            return CheckOutcome(verdict(before, Findings(None, 0, held), len(snapshot.keys)))
        try:
            findings = await look(platform, snapshot)
        except Problem as problem:
            return CheckOutcome(failure=failure_of(problem))
        return CheckOutcome(verdict(before, findings, len(snapshot.keys)))

    async def apply(self, tx: Tx, snapshot: ToCheck, decision: CheckOutcome) -> datetime | None:
        artifact = snapshot.artifact
        if decision.verdict is None:
            return await self._delayed(tx, artifact, decision.failure or failure_of(Problem("internal")))
        found = decision.verdict
        after = await queries.artifact_checked(
            tx.connection, artifact, found.trust, found.detail, sorted(found.signed_by), tx.now
        )
        if after is None:
            return None
        if after["trust"] != artifact["trust"]:
            place = (after["id"], after["tenant_id"], after["project_id"])
            change: dict[str, object] = {
                "before": {"trust": artifact["trust"]},
                "after": {"trust": after["trust"], "detail": after["trust_detail"]},
            }
            await audit.record(tx, AuditEntry("artifact_check", *place, details=change))
            await events.emit(tx, service.changed(after))
        if after["trust"] in (Trust.FAILED, Trust.REVOKED):
            await artifact_users().no_longer_trusted(tx, after["digest"], after["project_id"])
        return None

    async def _delayed(self, tx: Tx, artifact: DictRow, failure: Failure) -> datetime | None:
        """Trust is not lost because a store is away: the check is tried again until its time is over."""
        until = artifact["check_until"]
        if until is not None and tx.now + RETRY_PAUSE < until:
            return tx.now + RETRY_PAUSE
        detail = f"the last check could not be made: {failure.code}"
        await queries.artifact_check_given_up(tx.connection, artifact, detail)
        return None


async def look(platform: Platform, checked: ToCheck) -> Findings:
    """Read the bytes and the signatures. What is wrong with them is a finding; that they are out of reach, a Problem."""
    artifact = checked.artifact
    try:
        if artifact["kind"] == "oci":
            return await _look_at_image(await places.registry(platform), checked)
        measured = await places.blob_store(platform.settings).measure(artifact["location"])
    except Problem as problem:
        if problem.code in AWAY:
            raise
        return Findings(f"{problem.code}: {problem.detail}", 0, frozenset())
    if measured is None or measured.digest != artifact["digest"]:
        return Findings("digest_mismatch: the stored bytes are not those of the digest", 0, frozenset())
    found = [one for text in artifact["signatures"] if (one := decode_signature(text)) is not None]
    return Findings(None, len(found), blob_signers(checked.keys, artifact["digest"], found))


async def _look_at_image(registry: Registry, checked: ToCheck) -> Findings:
    repository, digest = checked.artifact["location"], checked.artifact["digest"]
    if await registry.check_image(repository, digest) is None:
        return Findings("digest_mismatch: the registry has no such image any more", 0, frozenset())
    found = await registry.signatures(repository, digest)
    return Findings(None, len(found), signers(checked.keys, digest, found))
