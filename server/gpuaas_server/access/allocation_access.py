"""Ways into an allocation: short certificates, and grants of a public key. The host learns of grants by a task."""

from datetime import datetime, timedelta

from gpuaas_server.access import queries, service, ssh_ca
from gpuaas_server.access.keys import PlatformKey
from gpuaas_server.access.schemas import (
    SshCertificate,
    SshCertificateCreate,
    SshGrant,
    SshGrantCreate,
    SshTarget,
)
from gpuaas_server.access.ssh_ca import CertificateRequest
from gpuaas_server.access.ssh_keys import SshPublicKey, read_public_key
from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationAccess
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id

_TAKES_GRANTS = ("requested", "provisioning", "active")


async def ssh_certificate_create(
    tx: Tx, project_id: str, allocation_id: str, body: SshCertificateCreate, authority: PlatformKey, minutes: int
) -> SshCertificate:
    public = read_public_key(body.public_key)
    place = await _allocation(tx.connection, project_id, allocation_id)
    target = _target(place)
    valid_before = tx.now + timedelta(minutes=body.minutes or minutes)
    row = await queries.certificate_insert(
        tx.connection,
        place.tenant_id,
        project_id,
        allocation_id,
        tx.actor.id,
        public.fingerprint,
        valid_before,
        tx.now,
    )
    request = CertificateRequest(
        public_key=public.key,
        serial=row["serial"],
        key_id=row["key_id"],
        principals=(allocation_id,),
        valid_after=tx.now - ssh_ca.CLOCK_SLACK,
        valid_before=valid_before,
    )
    details = {"serial": row["serial"], "fingerprint": public.fingerprint, "until": valid_before.isoformat()}
    await _audit(tx, place, "ssh_certificate_create", allocation_id, details)
    host_keys = await service.host_ca_keys(tx.connection)
    return SshCertificate(
        certificate=ssh_ca.sign_user_certificate(authority, request),
        valid_before=valid_before,
        serial=row["serial"],
        principal=allocation_id,
        ssh=target,
        host_ca_keys=host_keys,
        known_hosts_line=known_hosts(target, allocation_id, host_keys),
    )


def known_hosts(target: SshTarget, allocation_id: str, host_ca_keys: list[str]) -> str:
    """One line a key. The allocation id is a name that only the right host's certificate carries."""
    where = target.address if target.port == 22 else f"[{target.address}]:{target.port}"
    return "\n".join(f"@cert-authority {where},{allocation_id} {key}" for key in host_ca_keys)


async def ssh_grant_list(
    connection: Connection, project_id: str, allocation_id: str, after: str | None, limit: int
) -> Page[SshGrant]:
    await _allocation(connection, project_id, allocation_id)
    rows = await queries.grant_list(connection, project_id, allocation_id, after, limit + 1)
    return Page[SshGrant].of([SshGrant(**row) for row in rows], limit)


async def ssh_grant_create(tx: Tx, project_id: str, allocation_id: str, body: SshGrantCreate) -> SshGrant:
    public = await _wanted_key(tx, body)
    _check_end(body.expires_at, tx.now)
    place = await _allocation(tx.connection, project_id, allocation_id)
    if place.state not in _TAKES_GRANTS:
        raise Problem("not_active", f"The allocation is {place.state}.")
    grant = SshGrant(
        id=new_id("grt"),
        allocation_id=allocation_id,
        granted_to=tx.actor.id,
        public_key=public.line,
        fingerprint=public.fingerprint,
        note=body.note,
        expires_at=body.expires_at,
        revoked_at=None,
        created_at=tx.now,
    )
    row = (grant.id, place.tenant_id, project_id, allocation_id, tx.actor.id, public.line, public.fingerprint)
    await queries.grants_insert(tx.connection, [(*row, body.note, body.expires_at, tx.now)])
    await allocations.access_changed(tx, allocation_id)
    until = body.expires_at.isoformat()
    details: dict[str, object] = {"fingerprint": public.fingerprint, "until": until, "on": allocation_id}
    await _audit(tx, place, "ssh_grant_create", grant.id, details)
    return grant


async def ssh_grant_delete(tx: Tx, project_id: str, allocation_id: str, grant_id: str) -> None:
    place = await _allocation(tx.connection, project_id, allocation_id)
    row = await queries.grant_revoke(tx.connection, project_id, allocation_id, grant_id, tx.now)
    if row is None:
        raise not_found("SSH grant", grant_id)
    await allocations.access_changed(tx, allocation_id)
    await _audit(tx, place, "ssh_grant_delete", grant_id, {"fingerprint": row["fingerprint"]})


async def _allocation(connection: Connection, project_id: str, allocation_id: str) -> AllocationAccess:
    place = await allocations.allocation_access(connection, project_id, allocation_id)
    if place is None:
        raise not_found("allocation", allocation_id)
    return place


def _target(place: AllocationAccess) -> SshTarget:
    if place.state != "active" or place.ssh_address is None or place.ssh_port is None or place.ssh_user is None:
        raise Problem("not_active", f"The allocation is {place.state}.")
    return SshTarget(address=place.ssh_address, port=place.ssh_port, user=place.ssh_user)


async def _wanted_key(tx: Tx, body: SshGrantCreate) -> SshPublicKey:
    if (body.public_key is None) == (body.ssh_key_id is None):
        raise Problem("invalid_request", "Send either public_key or ssh_key_id.")
    if body.public_key is not None:
        return read_public_key(body.public_key)
    found = await queries.ssh_keys_by_id(tx.connection, tx.actor.id, [body.ssh_key_id or ""])
    if not found:
        raise not_found("SSH key", body.ssh_key_id or "")
    return read_public_key(found[0]["public_key"])


def _check_end(expires_at: datetime, now: datetime) -> None:
    if not now < expires_at <= now + service.LONGEST_GRANT:
        raise Problem("invalid_request", "expires_at: in the future, and within a year.")


async def _audit(tx: Tx, place: AllocationAccess, action: str, resource_id: str, details: dict[str, object]) -> None:
    entry = AuditEntry(action, resource_id, place.tenant_id, place.project_id, details=details)
    await audit.record(tx, entry)
