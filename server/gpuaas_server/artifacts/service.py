"""The verbs of artifacts, and what other nouns ask: the states of digests, and why one may not be launched."""

from collections.abc import Sequence

from gpuaas_server.artifacts import backends, evidence_queries, queries
from gpuaas_server.artifacts.evidence import Outcome, record_launch
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.machine import DELETE, check_limit
from gpuaas_server.artifacts.project_purge import purge_portion
from gpuaas_server.artifacts.publish_intents import WORK as PUBLISH
from gpuaas_server.artifacts.publish_intents import intents_forget
from gpuaas_server.artifacts.records import changed, present, record_artifact
from gpuaas_server.artifacts.rows import ArtifactRow, LastEvidence
from gpuaas_server.artifacts.runtime_secrets import (
    open_pull_credential,
    pull_secret_id,
    runtime_secret_create,
    runtime_secrets_end,
    runtime_secrets_forget,
)
from gpuaas_server.artifacts.schemas import (
    Artifact,
    ArtifactMove,
    ArtifactVerify,
)
from gpuaas_server.artifacts.stages import (
    KEEPING,
    TRANSITIONS,
    Launch,
    PromotionFacts,
    Refusal,
    Stage,
    Trust,
    in_canary,
    move_refusals,
)
from gpuaas_server.artifacts.stages import launch_refusals as refusals_of
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases
from gpuaas_server.work.lanes import Lane

__all__ = [
    "CHECK",
    "DELETE",
    "PUBLISH",
    "ArtifactState",
    "Outcome",
    "Refusal",
    "artifact_blob_key",
    "artifact_document",
    "artifact_kinds",
    "artifact_list",
    "artifact_move",
    "artifact_revoke",
    "artifact_show",
    "artifact_states",
    "artifact_verify",
    "blob_key",
    "changed",
    "in_canary",
    "intents_forget",
    "launch_refusals",
    "open_pull_credential",
    "present",
    "pull_secret_id",
    "purge_portion",
    "record_launch",
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


async def artifact_kinds(connection: Connection, project_id: str, digests: Sequence[str]) -> dict[str, str]:
    """Return whether the project's artifacts are files (`blob`) or images (`oci`), by digest; one that it lacks is left out."""
    return await queries.artifact_kinds(connection, project_id, digests)


async def launch_refusals(
    connection: Connection,
    tenant_id: str,
    project_id: str,
    digest: str,
    publisher_project_id: str | None = None,
    returning: bool = False,
    trial: bool = False,
) -> list[Refusal]:
    """List every reason why this project may not launch from the digest now: stage, canary, trust by the tenant's policy.

    `returning`: for an instance that has or had it, which may go on with what is only deprecated. `trial`: its publisher
    tries it in its own project.
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
    refusals = refusals_of(launch, project_id, digest, returning, trial)
    if fact.has_credential and fact.tenant_id != tenant_id:
        message = f"Only the tenant of its publisher may use the credential that {digest} is pulled with."
        refusals.append(Refusal("pull_credential_private", message))
    return refusals


async def artifact_list(
    connection: Connection,
    settings: Settings,
    stage: str | None,
    digest: str | None,
    page: PageRequest,
    caller: Caller,
) -> Page[Artifact]:
    rows = await queries.artifact_list(connection, caller.project_id, stage, digest, page)
    return Page[Artifact].of([artifact_document(row, settings, caller) for row in rows], page)


async def artifact_show(connection: Connection, settings: Settings, artifact_id: str, caller: Caller) -> Artifact:
    row = present(await queries.artifact_show(connection, caller.project_id, artifact_id), artifact_id)
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


async def artifact_move(
    tx: Tx,
    settings: Settings,
    artifact_id: str,
    body: ArtifactMove,
    caller: Caller,
    require_match: RequireMatch,
) -> Artifact:
    """Move the artifact to another stage, forward or back. A refusal names every reason at once."""
    row = present(await queries.artifact_lock(tx.connection, caller.project_id, artifact_id), artifact_id)
    require_match(row.generation)
    wanted = Stage(body.stage)
    refusals = move_refusals(await _promotion_facts(tx.connection, row), wanted, body.canary_percent)
    if refusals:
        listed = [{"code": one.code, "message": one.message} for one in refusals]
        raise Problem("promotion_refused", " ".join(one.message for one in refusals), {"refusals": listed})
    after = await queries.artifact_set_stage(tx.connection, artifact_id, wanted, body.canary_percent or 0, tx.now)
    if (row.stage in KEEPING) != (after.stage in KEEPING):
        await artifact_hooks().artifact_changed(tx, row.digest, row.project_id)
    details: dict[str, object] = {"before": _position(row), "after": _position(after), "digest": row.digest}
    await record_artifact(tx, "artifact_move", after, details, body.reason)
    return artifact_document(after, settings, caller)


async def _promotion_facts(connection: Connection, row: ArtifactRow) -> PromotionFacts:
    policy = await queries.policy_show(connection, row.tenant_id)
    return PromotionFacts(
        stage=Stage(row.stage),
        trust=Trust(row.trust),
        require_signature=bool(policy and policy.require_signature),
        evidence=_outcomes(await evidence_queries.latest_evidence(connection, row.id)),
        checking=row.check_until is not None,
        needs_smoke_launch=bool(policy and policy.require_smoke_launch) and await _is_launched(connection, row),
        live=await artifact_hooks().live_instances(connection, row.digest),
        active_versions=await artifact_hooks().active_versions(connection, row.project_id, row.digest),
    )


def _outcomes(last: Sequence[LastEvidence]) -> dict[tuple[str, str], bool]:
    return {(one.kind, one.source): one.passed for one in last}


async def _is_launched(connection: Connection, row: ArtifactRow) -> bool:
    """Tell whether a launch could show something of it: an image, or a file that a version of the project names."""
    return row.kind == "oci" or bool(await artifact_hooks().versions(connection, row.project_id, row.digest, 1))


def _position(row: ArtifactRow) -> dict[str, object]:
    return {"stage": row.stage, "canary_percent": row.canary_percent}


async def artifact_verify(
    tx: Tx, settings: Settings, artifact_id: str, body: ArtifactVerify, caller: Caller
) -> Artifact:
    """Have bytes and signatures checked again. The outcome is in `trust`."""
    row = present(await queries.artifact_lock(tx.connection, caller.project_id, artifact_id), artifact_id)
    if body.signatures and row.kind != "blob":
        raise Problem("conflict", "An image's signatures are read from the registry, beside the image.")
    signatures = list(dict.fromkeys([*row.signatures, *body.signatures]))[-20:]
    until = tx.now + check_limit(row.size_bytes)
    row = await queries.artifact_request_check(tx.connection, artifact_id, signatures, until)
    await leases.enqueue(tx, CHECK, [artifact_id])
    await record_artifact(tx, "artifact_verify", row, {"digest": row.digest, "signatures": len(body.signatures)})
    return artifact_document(row, settings, caller)


async def artifact_revoke(tx: Tx, settings: Settings, artifact_id: str, reason: str, caller: Caller) -> Artifact:
    """Revoke the artifact for ever: new launches stop, running instances are flagged. The bytes stay, as evidence."""
    row = present(await queries.artifact_lock(tx.connection, caller.project_id, artifact_id), artifact_id)
    if row.trust == Trust.REVOKED:
        raise Problem("conflict", "The artifact is revoked already.")
    after = await queries.artifact_revoke(tx.connection, artifact_id, f"revoked: {reason}")
    details: dict[str, object] = {
        "before": {"trust": row.trust},
        "after": {"trust": after.trust},
        "digest": row.digest,
    }
    await record_artifact(tx, "artifact_revoke", after, details, reason)
    # The worker sees all tenants, and flags what runs there. It reads no bytes for that, and waits for no one who does.
    await leases.enqueue(tx, CHECK, [artifact_id], lane=Lane.SAFETY)
    return artifact_document(after, settings, caller)


def artifact_document(row: ArtifactRow, settings: Settings, caller: Caller) -> Artifact:
    host = row.registry
    if row.kind == "oci" and host is None and backends.registry_url(settings):
        host = backends.registry_host(settings)
    return Artifact(
        **fields_of(row),
        reference=None if host is None else f"{host}/{row.location}@{row.digest}",
        has_credential=row.pull_secret_id is not None,
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
