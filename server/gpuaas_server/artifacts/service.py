"""The verbs of artifacts, and what other nouns ask: the states of digests, and why one may not be launched."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_server.artifacts import backends, queries
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.machine import CHECK_LIMIT, DELETE
from gpuaas_server.artifacts.project_purge import purge_portion
from gpuaas_server.artifacts.publish_intents import WORK as PUBLISH
from gpuaas_server.artifacts.publish_intents import intents_forget
from gpuaas_server.artifacts.rows import ArtifactRow, EvidenceRow
from gpuaas_server.artifacts.runtime_secrets import runtime_secret_create, runtime_secrets_end, runtime_secrets_forget
from gpuaas_server.artifacts.schemas import (
    Artifact,
    ArtifactMove,
    ArtifactVerify,
    Evidence,
    EvidenceAdd,
)
from gpuaas_server.artifacts.stages import (
    KEEPING,
    TRANSITIONS,
    Launch,
    Refusal,
    Stage,
    Standing,
    Trust,
    move_refusals,
)
from gpuaas_server.artifacts.stages import launch_refusals as refusals_of
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases
from gpuaas_server.work.lanes import Lane

__all__ = [
    "CHECK",
    "DELETE",
    "PUBLISH",
    "ArtifactState",
    "Refusal",
    "artifact_blob_key",
    "artifact_document",
    "artifact_evidence_add",
    "artifact_evidence_list",
    "artifact_kind",
    "artifact_list",
    "artifact_move",
    "artifact_revoke",
    "artifact_show",
    "artifact_states",
    "artifact_verify",
    "blob_key",
    "changed",
    "intents_forget",
    "launch_refusals",
    "present",
    "purge_portion",
    "runtime_secret_create",
    "runtime_secrets_end",
    "runtime_secrets_forget",
]

CHECK = "artifact_check"


@dataclass(frozen=True, slots=True)
class ArtifactState:
    digest: str
    stage: Stage
    trust: Trust
    canary_percent: int

    @property
    def revoked(self) -> bool:
        return self.trust is Trust.REVOKED


async def artifact_states(
    connection: Connection, digests: Sequence[str], publisher_project_id: str | None = None
) -> dict[str, ArtifactState]:
    """Return the states by digest; one that was never registered is left out.

    Several projects may have registered the same bytes: `publisher_project_id` says which one is meant, else it is the
    first.
    """
    rows = await queries.artifact_facts(connection, list(digests), publisher_project_id)
    return {
        row.digest: ArtifactState(row.digest, Stage(row.stage), Trust(row.trust), row.canary_percent) for row in rows
    }


async def artifact_kind(connection: Connection, project_id: str, digest: str) -> str | None:
    """Return whether the project's artifact is a file (`blob`) or an image (`oci`); None if it has none."""
    return await queries.artifact_kind(connection, project_id, digest)


async def launch_refusals(
    connection: Connection,
    tenant_id: str,
    project_id: str,
    digest: str,
    publisher_project_id: str | None = None,
    returning: bool = False,
) -> list[Refusal]:
    """List every reason why this project may not launch from the digest now: stage, canary, trust by the tenant's policy.

    `returning`: for an instance that has or had it, which may go on with what is only deprecated.
    """
    rows = await queries.artifact_facts(connection, [digest], publisher_project_id)
    if not rows:
        return [Refusal("artifact_unknown", f"No artifact {digest} is registered.")]
    fact = rows[0]
    policy = await queries.policy_show(connection, tenant_id)
    keys = await queries.tenant_keys(connection, tenant_id)
    launch = Launch(
        stage=Stage(fact.stage),
        trust=Trust(fact.trust),
        signed_by=frozenset(fact.signed_by),
        canary_percent=fact.canary_percent,
        require_signature=bool(policy and policy.require_signature),
        allowed_keys=frozenset(key.fingerprint for key in keys if key.revoked_at is None),
        revoked_keys=frozenset(key.fingerprint for key in keys if key.revoked_at is not None),
    )
    return refusals_of(launch, project_id, digest, returning)


async def artifact_list(
    connection: Connection,
    settings: Settings,
    project_id: str,
    wanted: tuple[str | None, str | None],
    page: tuple[str | None, int],
    caller: Caller,
) -> Page[Artifact]:
    """List the project's artifacts. `wanted` is (stage, digest), `page` (after, limit)."""
    after, limit = page
    rows = await queries.artifact_list(connection, project_id, *wanted, after, limit + 1)
    return Page[Artifact].of([artifact_document(row, settings, caller) for row in rows], limit)


async def artifact_show(
    connection: Connection, settings: Settings, project_id: str, artifact_id: str, caller: Caller
) -> Artifact:
    row = present(await queries.artifact_show(connection, project_id, artifact_id), artifact_id)
    return artifact_document(row, settings, caller)


async def artifact_blob_key(connection: Connection, project_id: str, artifact_id: str) -> str:
    """Return where a blob's bytes are; nobody gets a revoked one."""
    row = present(await queries.artifact_show(connection, project_id, artifact_id), artifact_id)
    return blob_key(row)


def blob_key(row: ArtifactRow) -> str:
    if row.kind != "blob":
        raise Problem("conflict", "The artifact is an image: pull it from the registry by its reference.")
    if row.trust == Trust.REVOKED:
        raise Problem("artifact_revoked", row.trust_detail)
    if row.deleting_since is not None:
        raise Problem("conflict", "The artifact is being deleted.")
    return row.location


async def artifact_evidence_add(tx: Tx, project_id: str, artifact_id: str, body: EvidenceAdd) -> Evidence:
    row = present(await queries.artifact_lock(tx.connection, project_id, artifact_id), artifact_id)
    evidence = EvidenceRow(
        **body.model_dump(),
        id=new_id("evd"),
        artifact_id=artifact_id,
        tenant_id=row.tenant_id,
        submitted_by=tx.actor.id,
        created_at=tx.now,
    )
    await queries.evidence_insert(tx.connection, evidence)
    details: dict[str, object] = {"kind": body.kind, "passed": body.passed, "tool": body.tool}
    await _record(tx, "artifact_evidence_add", row, details)
    return Evidence(**fields_of(evidence))


async def artifact_evidence_list(
    connection: Connection, project_id: str, artifact_id: str, after: str | None, limit: int
) -> Page[Evidence]:
    present(await queries.artifact_show(connection, project_id, artifact_id), artifact_id)
    rows = await queries.evidence_list(connection, artifact_id, after, limit + 1)
    return Page[Evidence].of([Evidence(**fields_of(row)) for row in rows], limit)


async def artifact_move(
    tx: Tx,
    settings: Settings,
    project_id: str,
    artifact_id: str,
    body: ArtifactMove,
    caller: Caller,
    require_match: RequireMatch,
) -> Artifact:
    """Move the artifact to another stage, forward or back. A refusal names every reason at once."""
    row = present(await queries.artifact_lock(tx.connection, project_id, artifact_id), artifact_id)
    require_match(row.generation)
    wanted = Stage(body.stage)
    refusals = move_refusals(await _standing(tx.connection, row), wanted, body.canary_percent)
    if refusals:
        listed = [{"code": one.code, "message": one.message} for one in refusals]
        raise Problem("promotion_refused", " ".join(one.message for one in refusals), {"refusals": listed})
    after = await queries.artifact_set_stage(tx.connection, artifact_id, wanted, body.canary_percent or 0, tx.now)
    if (row.stage in KEEPING) != (after.stage in KEEPING):
        await artifact_hooks().standing_changed(tx, row.digest, row.project_id)
    details: dict[str, object] = {"before": _position(row), "after": _position(after), "digest": row.digest}
    await _record(tx, "artifact_move", after, details, body.reason)
    return artifact_document(after, settings, caller)


async def _standing(connection: Connection, row: ArtifactRow) -> Standing:
    policy = await queries.policy_show(connection, row.tenant_id)
    return Standing(
        stage=Stage(row.stage),
        trust=Trust(row.trust),
        require_signature=bool(policy and policy.require_signature),
        evidence=await queries.latest_evidence(connection, row.id),
        live=await artifact_hooks().live_instances(connection, row.digest),
        active_versions=await artifact_hooks().active_versions(connection, row.project_id, row.digest),
    )


def _position(row: ArtifactRow) -> dict[str, object]:
    return {"stage": row.stage, "canary_percent": row.canary_percent}


async def artifact_verify(
    tx: Tx, settings: Settings, project_id: str, artifact_id: str, body: ArtifactVerify, caller: Caller
) -> Artifact:
    """Have bytes and signatures checked again. The outcome is in `trust`."""
    row = present(await queries.artifact_lock(tx.connection, project_id, artifact_id), artifact_id)
    if body.signatures and row.kind != "blob":
        raise Problem("conflict", "An image's signatures are read from the registry, beside the image.")
    signatures = list(dict.fromkeys([*row.signatures, *body.signatures]))[-20:]
    row = await queries.artifact_request_check(tx.connection, artifact_id, signatures, tx.now + CHECK_LIMIT)
    await leases.enqueue(tx, CHECK, [artifact_id])
    await _record(tx, "artifact_verify", row, {"digest": row.digest, "signatures": len(body.signatures)})
    return artifact_document(row, settings, caller)


async def artifact_revoke(
    tx: Tx, settings: Settings, project_id: str, artifact_id: str, reason: str, caller: Caller
) -> Artifact:
    """Revoke the artifact for ever: new launches stop, running instances are flagged. The bytes stay, as evidence."""
    row = present(await queries.artifact_lock(tx.connection, project_id, artifact_id), artifact_id)
    if row.trust == Trust.REVOKED:
        raise Problem("conflict", "The artifact is revoked already.")
    after = await queries.artifact_revoke(tx.connection, artifact_id, f"revoked: {reason}")
    details: dict[str, object] = {
        "before": {"trust": row.trust},
        "after": {"trust": after.trust},
        "digest": row.digest,
    }
    await _record(tx, "artifact_revoke", after, details, reason)
    # The worker sees all tenants, and flags what runs there. It reads no bytes for that, and waits for no one who does.
    await leases.enqueue(tx, CHECK, [artifact_id], lane=Lane.SAFETY)
    return artifact_document(after, settings, caller)


async def _record(tx: Tx, action: str, row: ArtifactRow, details: dict[str, object], reason: str | None = None) -> None:
    place = (row.id, row.tenant_id, row.project_id)
    await audit.record(tx, AuditEntry(action, *place, reason=reason, details=details))
    await events.emit(tx, changed(row))


def changed(row: ArtifactRow) -> NewEvent:
    data: dict[str, object] = {"stage": row.stage, "trust": row.trust, "digest": row.digest}
    return NewEvent("artifact.changed", row.id, row.tenant_id, row.project_id, data)


def artifact_document(row: ArtifactRow, settings: Settings, caller: Caller) -> Artifact:
    reference = None
    if row.kind == "oci" and backends.registry_url(settings):
        reference = f"{backends.registry_host(settings)}/{row.location}@{row.digest}"
    return Artifact(
        **fields_of(row),
        reference=reference,
        checking=row.check_until is not None,
        deleting=row.deleting_since is not None,
        allowed_actions=identity.allowed_actions(caller, _possible_actions(row)),
    )


def _possible_actions(row: ArtifactRow) -> list[str]:
    if row.deleting_since is not None:
        return []
    verbs = ["artifact_evidence_add", "artifact_verify", "artifact_delete"]
    verbs += ["artifact_move"] if TRANSITIONS[Stage(row.stage)] else []
    verbs += ["artifact_revoke"] if row.trust != Trust.REVOKED else []
    return verbs


def present(row: ArtifactRow | None, artifact_id: str) -> ArtifactRow:
    if row is None:
        raise not_found("artifact", artifact_id)
    return row
