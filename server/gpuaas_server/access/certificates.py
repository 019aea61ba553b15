"""Login certificates for allocations: signed, listed, and ended before their time. The host learns of an end by a task."""

from datetime import timedelta

from gpuaas_server.access import queries
from gpuaas_server.access.allocation_access import allocation_place, audited
from gpuaas_server.access.issuing import Issue, certificates_issue, requester_sources
from gpuaas_server.access.schemas import (
    IssuedSshCertificate,
    IssuedSshCertificates,
    RevokedSshCertificates,
    SshCertificate,
    SshCertificateCreate,
    SshCertificateRevoke,
)
from gpuaas_server.allocations import service as allocations
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki.service import PlatformKey, read_public_key

REVOKERS = frozenset({"platform_admin", "tenant_admin", "project_admin"})


async def ssh_certificate_create(
    tx: Tx, project_id: str, allocation_id: str, body: SshCertificateCreate, authority: PlatformKey, settings: Settings
) -> SshCertificate:
    public = read_public_key(body.public_key)
    place = await allocation_place(tx.connection, project_id, allocation_id)
    valid_before = tx.now + timedelta(minutes=body.minutes or settings.ssh_certificate_minutes)
    wish = Issue(public, valid_before, authority, sources=requester_sources(tx.actor, settings))
    [issued] = await certificates_issue(tx, [place], wish)
    details = {"serial": issued.serial, "fingerprint": public.fingerprint, "until": valid_before.isoformat()}
    await audited(tx, place, "ssh_certificate_create", allocation_id, details)
    return issued


async def ssh_certificate_list(
    connection: Connection, project_id: str, allocation_id: str, before: int | None, limit: int
) -> IssuedSshCertificates:
    await allocation_place(connection, project_id, allocation_id)
    rows = await queries.certificate_list(connection, project_id, allocation_id, before, limit + 1)
    items = [IssuedSshCertificate(**row) for row in rows[:limit]]
    return IssuedSshCertificates(items=items, next_cursor=str(items[-1].serial) if len(rows) > limit else None)


async def ssh_certificate_revoke(
    tx: Tx, project_id: str, allocation_id: str, body: SshCertificateRevoke, caller: Caller
) -> RevokedSshCertificates:
    """Of what is asked for, that which can still open a door; nothing left to revoke is no error."""
    place = await allocation_place(tx.connection, project_id, allocation_id)
    holder = body.issued_to
    if body.serial is not None:
        found = await queries.certificate_holder(tx.connection, allocation_id, body.serial)
        if found is None or holder not in (None, found):
            raise not_found("SSH certificate", str(body.serial))
        holder = found
    if not caller.roles & REVOKERS:
        holder = holder or tx.actor.id
        if holder != tx.actor.id:
            raise Problem("forbidden", "This is somebody else's certificate.", {"needs": sorted(REVOKERS)})
    revoked = await queries.certificates_revoke(tx.connection, allocation_id, holder, body.serial, tx.now)
    if revoked:
        await allocations.access_changed(tx, allocation_id)
    details: dict[str, object] = {"serials": revoked, "holder": holder}
    await audited(tx, place, "ssh_certificate_revoke", allocation_id, details, body.reason)
    return RevokedSshCertificates(revoked=revoked)
