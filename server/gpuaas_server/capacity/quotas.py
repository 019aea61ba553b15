"""Quotas: what a tenant, and each of its projects, may use, and the counting against it."""

from collections.abc import Mapping

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.capacity import quota_queries as queries
from gpuaas_server.capacity.rows import QuotaRow
from gpuaas_server.capacity.schemas import Quota, QuotaSet
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.quotas import RAISED_BY
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings

_DETAILS = {
    "artifacts": "The {scope}'s quota is {limit} artifacts, {used} are in use, and {wanted} more was asked for.",
    "artifact_bytes": "The {scope}'s quota is {limit} bytes of artifacts, {used} are in use, and {wanted} more were asked for.",
}


@dataclass(frozen=True, slots=True)
class ArtifactUse:
    """Artifacts and bytes to add to what a project uses; negative ones are given back."""

    tenant_id: str
    project_id: str
    artifacts: int
    size_bytes: int


def tenant_defaults(settings: Settings) -> dict[str, int]:
    return {
        "artifact_limit": settings.quota_artifacts,
        "artifact_byte_limit": settings.quota_artifact_bytes,
        "unproven_gpu_limit": settings.quota_unproven_gpus,
        "stream_limit": settings.streams_per_tenant,
    }


def project_defaults(settings: Settings) -> dict[str, int]:
    """Return the defaults of projects. A project has no limit of its own of anything else."""
    return {"stream_limit": settings.streams_per_project}


async def quota_show(connection: Connection, settings: Settings, scope_id: str, tenant_id: str) -> Quota:
    return _quota(await queries.quota_show(connection, scope_id), settings, scope_id, tenant_id)


def _quota(row: QuotaRow | None, settings: Settings, scope_id: str, tenant_id: str) -> Quota:
    shown = fields_of(row or QuotaRow(scope_id))
    defaults = tenant_defaults(settings) if scope_id == tenant_id else project_defaults(settings)
    shown |= {name: most for name, most in defaults.items() if shown[name] is None}
    return Quota(**shown)


async def quota_set(
    tx: Tx, settings: Settings, scope_id: str, tenant_id: str, body: QuotaSet, require_match: RequireMatch
) -> Quota:
    """Set limits. A limit below the present use is allowed: nothing is taken away, nothing new is given. Others stay."""
    limits = {name: value for name, value in body.model_dump().items() if name in body.model_fields_set}
    if scope_id != tenant_id:
        await _require_within_tenant(tx.connection, settings, tenant_id, limits)
    before, row = await _store(tx, scope_id, tenant_id, limits, require_match)
    if "stream_limit" in limits:
        tx.wakeups.add(identity.TOPIC)  # the gate of each process caches the limits of streams
    project_id = scope_id if scope_id != tenant_id else None
    action = "project_quota_set" if project_id else "tenant_quota_set"
    details: dict[str, object] = {"before": {name: getattr(before, name) for name in limits}, "after": limits}
    await record(tx, AuditEntry(action, scope_id, tenant_id, project_id, details=details))
    return _quota(row, settings, scope_id, tenant_id)


async def _require_within_tenant(
    connection: Connection, settings: Settings, tenant_id: str, limits: Mapping[str, int | None]
) -> None:
    """Refuse limits of artifacts, unproven releases and streams beyond the tenant's. GPUs are not compared: the tenant's
    limit counts anyway.
    """
    tenant = await quota_show(connection, settings, tenant_id, tenant_id)
    for name in tenant_defaults(settings):
        wanted, most = limits.get(name), getattr(tenant, name)
        if wanted is not None and most is not None and wanted > most:
            details: dict[str, object] = {"limit": name, "tenant_limit": most, "raised_by": RAISED_BY["tenant"]}
            raise Problem(
                "quota_beyond_tenant", f"{name} of the tenant is {most}; a project cannot have more.", details
            )


async def _store(
    tx: Tx, scope_id: str, tenant_id: str, limits: Mapping[str, int | None], require_match: RequireMatch
) -> tuple[QuotaRow, QuotaRow]:
    """Return the quota before and after. A missing row cannot be locked: if another writes it first, look again, once."""
    for _ in range(2):
        before = await queries.quota_lock(tx.connection, scope_id) or QuotaRow(scope_id)
        require_match(before.generation)
        row = await queries.quota_set(tx.connection, scope_id, tenant_id, limits, before.generation)
        if row is not None:
            return before, row
    raise not_found("quota", scope_id)


async def count_artifacts(tx: Tx, settings: Settings, use: ArtifactUse) -> Problem | None:
    """Count the use, or say why not. Concurrent callers wait for each other, so that they cannot overshoot together."""
    defaults = (settings.quota_artifacts, settings.quota_artifact_bytes)
    refusal = await queries.reserve_artifacts(
        tx.connection, use.project_id, use.tenant_id, use.artifacts, use.size_bytes, defaults
    )
    if refusal is None:
        return None
    scope = "tenant" if refusal["scope_id"] == use.tenant_id else "project"
    details: dict[str, object] = {**refusal, "scope": scope, "raised_by": RAISED_BY[scope]}
    return Problem("quota_exceeded", _DETAILS[refusal["quota"]].format(**details), details)


def artifact_bytes_exceeded(scope: str, limit: int, used: int) -> Problem:
    """Return the refusal of an upload whose size is not known beforehand."""
    details: dict[str, object] = {"quota": "artifact_bytes", "scope": scope, "limit": limit, "used": used}
    said = f"The {scope}'s quota is {limit} bytes of artifacts, and {used} are in use, pushed images included."
    return Problem("quota_exceeded", said, {**details, "raised_by": RAISED_BY[scope]})
