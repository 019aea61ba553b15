"""The reconciler that checks an artifact: its bytes, its signatures, and its form.

Bytes are read in `act`, outside any transaction, and may take long; what is stored is in `apply`.
"""

from datetime import datetime

from gpuaas_server.artifacts import backends, evidence, queries, service
from gpuaas_server.artifacts.external_images import ExternalImage, check_external, external_registry
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.lint import LintReport, lint_blob, lint_image
from gpuaas_server.artifacts.machine import RETRY_PAUSE, Findings, TrustVerdict, verdict
from gpuaas_server.artifacts.oci import Registry
from gpuaas_server.artifacts.reconciler import AWAY, UNREADABLE, failure_of
from gpuaas_server.artifacts.rows import ArtifactRow
from gpuaas_server.artifacts.signatures import TrustedKey, blob_signers, decode_signature, read_key, signers
from gpuaas_server.artifacts.stages import Trust
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events import service as events
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.failures import Failure


@dataclass(frozen=True, slots=True)
class CheckSnapshot:
    artifact: ArtifactRow
    keys: list[TrustedKey]


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    verdict: TrustVerdict | None = None
    lint: LintReport | None = None
    failure: Failure | None = None  # the bytes could not be reached


class ArtifactCheckReconciler:
    kind = service.CHECK

    async def load(self, connection: Connection, subject: str) -> CheckSnapshot | None:
        artifact = await queries.artifact_load(connection, subject)
        if artifact is None:
            return None
        rows = await queries.tenant_keys(connection, artifact.tenant_id)
        return CheckSnapshot(artifact, [read_key(row.public_key) for row in rows if row.revoked_at is None])

    def decide(self, snapshot: CheckSnapshot, now: datetime) -> CheckOutcome:
        return CheckOutcome()

    async def act(self, platform: Platform, snapshot: CheckSnapshot, decision: CheckOutcome) -> CheckOutcome:
        before = Trust(snapshot.artifact.trust)
        if before is Trust.REVOKED:
            signed_by = frozenset(snapshot.artifact.signed_by)
            return CheckOutcome(verdict(before, Findings(None, 0, signed_by), len(snapshot.keys)))
        try:
            findings, lint = await inspect_artifact(platform, snapshot)
        except Problem as problem:
            return CheckOutcome(failure=failure_of(problem))
        return CheckOutcome(verdict(before, findings, len(snapshot.keys)), lint)

    async def apply(self, tx: Tx, snapshot: CheckSnapshot, decision: CheckOutcome) -> datetime | None:
        artifact = snapshot.artifact
        if decision.verdict is None:
            return await self._retry_check(tx, artifact, decision.failure or failure_of(Problem("internal")))
        found = decision.verdict
        after = await queries.artifact_store_check(
            tx.connection, artifact, found.trust, found.detail, sorted(found.signed_by), tx.now
        )
        if after is None:
            return None
        if decision.lint is not None:
            await evidence.record_lint(tx, after, decision.lint)
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
        """Try the check again until its time is over: trust is not lost because a store is away."""
        until = artifact.check_until
        if failure.code in AWAY and until is not None and tx.now + RETRY_PAUSE < until:
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
    """Return what is found of an artifact that is not what it was published as."""
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
