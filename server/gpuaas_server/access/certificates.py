"""Login certificates for allocations: signed, listed, and ended before their time. The host learns of an end by a task."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.access import queries
from gpuaas_server.access.grants import record_access_audit, require_allocation
from gpuaas_server.access.rows import NewCertificate
from gpuaas_server.access.schemas import (
    IssuedSshCertificate,
    IssuedSshCertificates,
    RevokedSshCertificates,
    SshCertificate,
    SshCertificateCreate,
    SshCertificateRevoke,
    SshTarget,
)
from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationAccess
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Actor, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.networks import is_address, parse_address, parse_network
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import CertificateRequest, PlatformKey, SshPublicKey, read_public_key

MOST_HOSTS_NAMED = 64  # in a problem
REVOKERS = frozenset({"platform_admin", "tenant_admin", "project_admin"})


async def ssh_certificate_create(
    tx: Tx, project_id: str, allocation_id: str, body: SshCertificateCreate, authority: PlatformKey, settings: Settings
) -> SshCertificate:
    public = read_public_key(body.public_key)
    allocation = await require_allocation(tx.connection, project_id, allocation_id)
    valid_before = tx.now + timedelta(minutes=body.minutes or settings.ssh_certificate_minutes)
    sources = certificate_sources(tx.actor, body.source_addresses, settings)
    [issued] = await certificates_issue(tx, [allocation], IssueRequest(public, valid_before, authority, sources))
    details = {
        "serial": issued.serial,
        "fingerprint": public.fingerprint,
        "until": valid_before.isoformat(),
        "source_addresses": issued.source_addresses,
    }
    await record_access_audit(tx, allocation, "ssh_certificate_create", allocation_id, details)
    return issued


async def ssh_certificate_list(
    connection: Connection, project_id: str, allocation_id: str, before: int | None, limit: int
) -> IssuedSshCertificates:
    await require_allocation(connection, project_id, allocation_id)
    rows = await queries.certificate_list(connection, project_id, allocation_id, before, limit + 1)
    items = [IssuedSshCertificate(**fields_of(row)) for row in rows[:limit]]
    return IssuedSshCertificates(items=items, next_cursor=str(items[-1].serial) if len(rows) > limit else None)


async def ssh_certificate_revoke(
    tx: Tx, allocation_id: str, body: SshCertificateRevoke, caller: Caller
) -> RevokedSshCertificates:
    """Revoke the requested certificates that are still usable. It is no error if there are none."""
    allocation = await require_allocation(tx.connection, caller.project_id, allocation_id)
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
    await record_access_audit(tx, allocation, "ssh_certificate_revoke", allocation_id, details, body.reason)
    return RevokedSshCertificates(revoked=revoked)


async def revoked_serials(connection: Connection, allocation_id: str, now: datetime | None = None) -> list[int]:
    return (await revoked_serials_of(connection, [allocation_id], now or utc_now()))[allocation_id]


async def revoked_serials_of(
    connection: Connection, allocation_ids: Sequence[str], now: datetime
) -> dict[str, list[int]]:
    serials: dict[str, list[int]] = {allocation_id: [] for allocation_id in allocation_ids}
    for row in await queries.revoked_serials(connection, allocation_ids, now):
        serials[row.allocation_id].append(row.serial)
    return serials


@dataclass(frozen=True, slots=True)
class CertificateSources:
    """Addresses and networks from which a certificate opens anything. None: the operator lets it work from everywhere."""

    networks: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class IssueRequest:
    """One public key that may log in until a time. It ends with the credential, operation or terminal it is issued for."""

    public: SshPublicKey
    valid_before: datetime
    authority: PlatformKey
    sources: CertificateSources
    access_credential_id: str | None = None
    operation_id: str | None = None
    terminal_id: str | None = None
    # The only command that the certificate runs, and what it is issued for, as sshd's log shows it.
    command: str | None = None
    purpose: str | None = None


def certificate_sources(requester: Actor, named: Sequence[str], settings: Settings) -> CertificateSources:
    """Bind a certificate to where its request came from and to what the requester names.

    A requester on loopback reaches hosts by another address, which only the requester knows.
    """
    if not settings.ssh_certificate_source_check:
        return CertificateSources(tuple(dict.fromkeys(str(parse_network(one)) for one in named)) or None)
    found = [requester.address] if _is_remote(requester.address) else []
    return CertificateSources(tuple(dict.fromkeys(str(parse_network(one)) for one in (*found, *named))))


def _is_remote(text: str) -> bool:
    if not is_address(text):
        return False
    address = parse_address(text)
    return not (address.is_loopback or address.is_unspecified)


async def certificates_issue(
    tx: Tx, login_allocations: Sequence[AllocationAccess], wanted: IssueRequest
) -> list[SshCertificate]:
    """Issue one certificate for each allocation, in that order; all of them must be active."""
    if not login_allocations:
        return []
    targets = {allocation.allocation_id: target_of(allocation) for allocation in login_allocations}
    sources = wanted.sources.networks
    if sources is not None and not sources:
        hosts = sorted({target.address for target in targets.values()})
        raise Problem(
            "source_addresses_needed",
            "The request shows no address that hosts can see: it came from the platform's own machine, or through a proxy that"
            " GPUAAS_TRUSTED_PROXIES does not name.",
            {"hosts": hosts[:MOST_HOSTS_NAMED]},
        )
    rows = await queries.certificates_insert(
        tx.connection, [_row(tx, allocation, wanted) for allocation in login_allocations]
    )
    serials = {row.allocation_id: row for row in rows}
    host_keys = await pki.host_ca_keys(tx.connection)
    issued = []
    for allocation in login_allocations:
        row, target = serials[allocation.allocation_id], targets[allocation.allocation_id]
        request = CertificateRequest(
            public_key=wanted.public.key,
            serial=row.serial,
            key_id=row.key_id,
            principals=(allocation.allocation_id,),
            valid_after=tx.now - pki.SSH_CLOCK_SLACK,
            valid_before=wanted.valid_before,
            sources=sources or (),
            from_everywhere=sources is None,
            command=wanted.command,
        )
        issued.append(
            SshCertificate(
                certificate=pki.sign_user_certificate(wanted.authority, request),
                valid_before=wanted.valid_before,
                serial=row.serial,
                principal=allocation.allocation_id,
                ssh=target,
                host_ca_keys=host_keys,
                known_hosts_line=known_hosts(target, allocation.allocation_id, host_keys),
                source_addresses=list(sources or ()),
            )
        )
    return issued


def _row(tx: Tx, allocation: AllocationAccess, wanted: IssueRequest) -> NewCertificate:
    through = wanted.operation_id or wanted.access_credential_id or wanted.terminal_id or wanted.purpose
    return NewCertificate(
        tenant_id=allocation.tenant_id,
        project_id=allocation.project_id,
        allocation_id=allocation.allocation_id,
        # sshd logs it with the serial: both lead back to the row.
        key_id=f"{tx.actor.id}@{allocation.allocation_id}" + (f"/{through}" if through else ""),
        issued_to=tx.actor.id,
        fingerprint=wanted.public.fingerprint,
        valid_before=wanted.valid_before,
        created_at=tx.now,
        access_credential_id=wanted.access_credential_id,
        operation_id=wanted.operation_id,
    )


def known_hosts(target: SshTarget, allocation_id: str, host_ca_keys: list[str]) -> str:
    """Return one line for each key. The allocation id is a name that only the right host's certificate has."""
    where = target.address if target.port == 22 else f"[{target.address}]:{target.port}"
    return "\n".join(f"@cert-authority {where},{allocation_id} {key}" for key in host_ca_keys)


def target_of(allocation: AllocationAccess) -> SshTarget:
    if allocation.state != "active" or allocation.ssh is None:
        raise Problem("not_active", f"The allocation is {allocation.state}.")
    return SshTarget(address=allocation.ssh.address, port=allocation.ssh.port, user=allocation.ssh.user)


async def certificates_forget(tx: Tx, before: datetime, portion: int) -> int:
    """Remove those that expired before then. An expired certificate opens nothing, revoked or not."""
    return await queries.certificates_delete_before(tx.connection, before, portion)
