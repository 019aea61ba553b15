"""Members of a project. Whoever may no longer use its allocations is also locked out of those that they can log in to."""

from gpuaas_server.access import queries
from gpuaas_server.access.rows import GrantRow, RevokedCertificate
from gpuaas_server.allocations import service as allocations
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import Member, RoleTarget
from gpuaas_server.kernel.context import RequireMatch, Tx

ONLY_READS = "project_viewer"


async def project_member_set(
    tx: Tx, tenant_id: str, project_id: str, user_id: str, role: str, require_match: RequireMatch
) -> Member:
    place = RoleTarget(tenant_id, project_id)
    member = await identity.member_set(tx, "project_member_set", user_id, role, place, require_match)
    if role == ONLY_READS:
        await holder_leaves(tx, project_id, user_id)
    return member


async def project_member_remove(
    tx: Tx, tenant_id: str, project_id: str, user_id: str, require_match: RequireMatch
) -> None:
    place = RoleTarget(tenant_id, project_id)
    await identity.member_remove(tx, "project_member_remove", user_id, place, require_match)
    await holder_leaves(tx, project_id, user_id)


async def holder_leaves(tx: Tx, project_id: str | None, holder: str) -> None:
    """End all access of a user to one project, or (None) to all: their certificates, and the grants that they made.

    Their hosts are told.
    """
    certificates = await queries.holder_certificates_revoke(tx.connection, project_id, holder, tx.now)
    grants = await queries.holder_grants_revoke(tx.connection, project_id, holder, tx.now)
    reason = "Left the project." if project_id else "May no longer act on the platform."
    entries = [
        _audit_entry(row, "ssh_certificate_revoke", holder, {"serial": row.serial}, reason) for row in certificates
    ]
    entries += [_audit_entry(row, "ssh_grant_delete", holder, {"grant": row.id}, reason) for row in grants]
    if entries:
        await audit.record(tx, *entries)
    opened = sorted({one.allocation_id for one in certificates} | {grant.allocation_id for grant in grants})
    if opened:
        await allocations.access_changed(tx, *opened)


def _audit_entry(
    row: RevokedCertificate | GrantRow, action: str, holder: str, what: dict[str, object], reason: str
) -> AuditEntry:
    details = {"holder": holder, **what}
    return AuditEntry(action, row.allocation_id, row.tenant_id, row.project_id, reason=reason, details=details)
