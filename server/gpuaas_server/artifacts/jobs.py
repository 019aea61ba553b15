"""The jobs of artifacts: the check of an artifact's bytes, signatures and form, and its deletion.

Bytes are read and removed in `act`, outside any transaction, and may take long; what is stored is in `apply`.
"""

from datetime import datetime

from gpuaas_server.artifacts import backends, evidence, publish_intents, queries, service
from gpuaas_server.artifacts.external_images import ExternalImage, check_external, external_registry
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.lint import LintReport, lint_blob, lint_image
from gpuaas_server.artifacts.machine import DELETE, RETRY_PAUSE, Findings, TrustVerdict, verdict
from gpuaas_server.artifacts.oci import Registry
from gpuaas_server.artifacts.reconciler import UNAVAILABLE_CODES, UNREADABLE, failure_of
from gpuaas_server.artifacts.rows import ArtifactRow
from gpuaas_server.artifacts.signatures import TrustedKey, blob_signers, decode_signature, read_key, signers
from gpuaas_server.artifacts.stages import Trust
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
from gpuaas_server.kernel.settings import Settings


@dataclass(frozen=True, slots=True)
class CheckSnapshot:
    artifact: ArtifactRow
    keys: list[TrustedKey]


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    verdict: TrustVerdict | None = None
    lint: LintReport | None = None
    failure: Failure | None = None  # the bytes could not be reached


class ArtifactCheckJob:
    """Reads the bytes and the signatures, and stores what is trusted. While the store is unavailable, it tries again."""

    kind = service.CHECK

    async def load(self, connection: Connection, subject: str) -> CheckSnapshot | None:
        artifact = await queries.artifact_load(connection, subject)
        if artifact is None:
            return None
        rows = await queries.tenant_keys(connection, artifact.tenant_id)
        return CheckSnapshot(artifact, [read_key(row.public_key) for row in rows if row.revoked_at is None])

    async def act(self, platform: Platform, snapshot: CheckSnapshot) -> CheckOutcome:
        before = Trust(snapshot.artifact.trust)
        if before is Trust.REVOKED:
            signed_by = frozenset(snapshot.artifact.signed_by)
            return CheckOutcome(verdict(before, Findings(None, 0, signed_by), len(snapshot.keys)))
        try:
            findings, lint = await inspect_artifact(platform, snapshot)
        except Problem as problem:
            return CheckOutcome(failure=failure_of(problem))
        return CheckOutcome(verdict(before, findings, len(snapshot.keys)), lint)

    async def apply(self, tx: Tx, snapshot: CheckSnapshot, outcome: CheckOutcome) -> datetime | None:
        artifact = snapshot.artifact
        if outcome.verdict is None:
            return await self._retry_check(tx, artifact, outcome.failure or failure_of(Problem("internal")))
        found = outcome.verdict
        after = await queries.artifact_store_check(
            tx.connection, artifact, found.trust, found.detail, sorted(found.signed_by), tx.now
        )
        if after is None:
            return None
        if outcome.lint is not None:
            await evidence.record_lint(tx, after, outcome.lint)
        if after.trust != artifact.trust:
            resource = (after.id, after.tenant_id, after.project_id)
            change: dict[str, object] = {
                "before": {"trust": artifact.trust},
                "after": {"trust": after.trust, "detail": after.trust_detail},
            }
            await audit.record(tx, AuditEntry("artifact_check", *resource, details=change))
            await events.emit(tx, service.changed(after))
        if after.trust in (Trust.FAILED, Trust.REVOKED) or _launch_trust(after) != _launch_trust(artifact):
            await artifact_hooks().artifact_changed(tx, after.digest, after.project_id)
        return None

    async def _retry_check(self, tx: Tx, artifact: ArtifactRow, failure: Failure) -> datetime | None:
        """Try the check again until its time is over: trust is not lost because a store is unavailable."""
        until = artifact.check_until
        if failure.code in UNAVAILABLE_CODES and until is not None and tx.now + RETRY_PAUSE < until:
            return tx.now + RETRY_PAUSE
        detail = f"the last check could not be made: {failure.code}"
        await queries.artifact_abandon_check(tx.connection, artifact, detail)
        return None


def _launch_trust(artifact: ArtifactRow) -> tuple[str, list[str]]:
    """Return what launches depend on: the trust of its own tenant, and the keys by which other tenants judge it."""
    return artifact.trust, sorted(artifact.signed_by)


async def inspect_artifact(platform: Platform, checked: CheckSnapshot) -> tuple[Findings, LintReport]:
    """Read the bytes and the signatures. Return what is wrong with them; raise a Problem if they cannot be reached."""
    artifact = checked.artifact
    try:
        if artifact.registry is not None:
            return await _inspect_external(platform, checked, artifact.registry)
        if artifact.kind == "oci":
            return await _inspect_image(await backends.registry(platform), checked)
        measured = await backends.blob_store(platform.settings).measure(artifact.location)
    except Problem as problem:
        if problem.code in UNREADABLE:
            raise
        return _mismatch(f"{problem.code}: {problem.detail}")
    if measured is None or measured.digest != artifact.digest:
        return _mismatch("digest_mismatch: the stored bytes are not those of the digest")
    lint = lint_blob(artifact.media_type, measured.size_bytes, measured.head)
    found = [one for text in artifact.signatures if (one := decode_signature(text)) is not None]
    return Findings(None, len(found), blob_signers(checked.keys, artifact.digest, found)), lint


def _mismatch(sentence: str) -> tuple[Findings, LintReport]:
    """Return findings that say, in `sentence`, how the bytes differ from what was published."""
    return Findings(sentence, 0, frozenset()), LintReport((sentence,))


async def _inspect_external(platform: Platform, checked: CheckSnapshot, registry: str) -> tuple[Findings, LintReport]:
    artifact = checked.artifact
    image = ExternalImage(registry, artifact.location, artifact.digest, artifact.pull_secret_id)
    async with external_registry(platform, image) as opened:
        await check_external(opened, platform.settings, image)
        return await _inspect_opened(opened, checked)


async def _inspect_image(registry: Registry, checked: CheckSnapshot) -> tuple[Findings, LintReport]:
    repository, digest = checked.artifact.location, checked.artifact.digest
    if await registry.check_image(repository, digest) is None:
        return _mismatch("digest_mismatch: the registry no longer has the image")
    return await _inspect_opened(registry, checked)


async def _inspect_opened(registry: Registry, checked: CheckSnapshot) -> tuple[Findings, LintReport]:
    where = (checked.artifact.location, checked.artifact.digest)
    found = await registry.signatures(*where)
    lint = lint_image(await registry.image_documents(*where))
    return Findings(None, len(found), signers(checked.keys, checked.artifact.digest, found)), lint


@dataclass(frozen=True, slots=True)
class DeletionSnapshot:
    artifact: ArtifactRow
    neighbours: list[str]  # digests of the repository's other images


class ArtifactDeleteJob:
    """Removes the bytes, then the row, and frees the quota last. It tries again while the store does not answer."""

    kind = DELETE

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def load(self, connection: Connection, subject: str) -> DeletionSnapshot | None:
        artifact = await queries.artifact_load(connection, subject)
        if artifact is None or artifact.deleting_since is None:
            return None
        return DeletionSnapshot(artifact, await queries.neighbour_digests(connection, artifact.location, subject))

    async def act(self, platform: Platform, snapshot: DeletionSnapshot) -> None:
        artifact = snapshot.artifact
        if artifact.registry is not None:
            return
        if artifact.kind == "blob":
            await backends.blob_store(platform.settings).remove(artifact.location)
        else:
            registry = await backends.registry(platform)
            await registry.remove_image(artifact.location, artifact.digest, snapshot.neighbours)

    async def apply(self, tx: Tx, snapshot: DeletionSnapshot, outcome: None) -> None:
        artifact = snapshot.artifact
        if not await queries.artifact_remove(tx.connection, artifact.id):
            return
        await publish_intents.destroy_credential(tx, artifact.pull_secret_id)
        use = ArtifactUse(artifact.tenant_id, artifact.project_id, -1, -artifact.stored_bytes)
        await capacity.count_artifacts(tx, self._settings, use)
        resource = (artifact.id, artifact.tenant_id, artifact.project_id)
        details: dict[str, object] = {"digest": artifact.digest, "size_bytes": artifact.size_bytes}
        await audit.record(tx, AuditEntry("artifact_deleted", *resource, details=details))
        await events.emit(tx, NewEvent("artifact.deleted", *resource, {"digest": artifact.digest}))
