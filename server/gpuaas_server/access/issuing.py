"""Signing login certificates for allocations: the one place where a row, its serial and the certificate come to be together."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuaas_server.access import queries
from gpuaas_server.access.queries import NewCertificate
from gpuaas_server.access.schemas import SshCertificate, SshTarget
from gpuaas_server.allocations.service import AllocationAccess
from gpuaas_server.kernel.context import Actor, Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.networks import is_address, parse_address
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import CertificateRequest, PlatformKey, SshPublicKey


@dataclass(frozen=True, slots=True)
class Issue:
    """One public key, let in until one time. `through` what it was asked for, it also ends."""

    public: SshPublicKey
    valid_before: datetime
    authority: PlatformKey
    access_credential_id: str | None = None
    operation_id: str | None = None
    terminal_id: str | None = None
    # Addresses and networks from which the certificate opens anything; none: from everywhere.
    sources: Sequence[str] = ()


def requester_sources(requester: Actor, settings: Settings) -> tuple[str, ...]:
    """From where a certificate for somebody may be used. Who comes by loopback reaches hosts by another address."""
    if not settings.ssh_certificate_source_check or not is_address(requester.address):
        return ()
    return () if parse_address(requester.address).is_loopback else (requester.address,)


async def certificates_issue(tx: Tx, places: Sequence[AllocationAccess], wanted: Issue) -> list[SshCertificate]:
    """One for each place, in that order; all of them must be active."""
    if not places:
        return []
    targets = {place.allocation_id: target_of(place) for place in places}
    rows = await queries.certificates_insert(tx.connection, [_row(tx, place, wanted) for place in places])
    serials = {row["allocation_id"]: row for row in rows}
    host_keys = await pki.host_ca_keys(tx.connection)
    issued = []
    for place in places:
        row, target = serials[place.allocation_id], targets[place.allocation_id]
        request = CertificateRequest(
            public_key=wanted.public.key,
            serial=row["serial"],
            key_id=row["key_id"],
            principals=(place.allocation_id,),
            valid_after=tx.now - pki.SSH_CLOCK_SLACK,
            valid_before=wanted.valid_before,
            sources=tuple(wanted.sources),
        )
        issued.append(
            SshCertificate(
                certificate=pki.sign_user_certificate(wanted.authority, request),
                valid_before=wanted.valid_before,
                serial=row["serial"],
                principal=place.allocation_id,
                ssh=target,
                host_ca_keys=host_keys,
                known_hosts_line=known_hosts(target, place.allocation_id, host_keys),
            )
        )
    return issued


def _row(tx: Tx, place: AllocationAccess, wanted: Issue) -> NewCertificate:
    through = wanted.operation_id or wanted.access_credential_id or wanted.terminal_id
    return NewCertificate(
        tenant_id=place.tenant_id,
        project_id=place.project_id,
        allocation_id=place.allocation_id,
        # sshd logs it with the serial: both lead back to the row.
        key_id=f"{tx.actor.id}@{place.allocation_id}" + (f"/{through}" if through else ""),
        issued_to=tx.actor.id,
        fingerprint=wanted.public.fingerprint,
        valid_before=wanted.valid_before,
        created_at=tx.now,
        access_credential_id=wanted.access_credential_id,
        operation_id=wanted.operation_id,
    )


def known_hosts(target: SshTarget, allocation_id: str, host_ca_keys: list[str]) -> str:
    """One line a key. The allocation id is a name that only the right host's certificate carries."""
    where = target.address if target.port == 22 else f"[{target.address}]:{target.port}"
    return "\n".join(f"@cert-authority {where},{allocation_id} {key}" for key in host_ca_keys)


def target_of(place: AllocationAccess) -> SshTarget:
    if place.state != "active" or place.ssh is None:
        raise Problem("not_active", f"The allocation is {place.state}.")
    return SshTarget(address=place.ssh.address, port=place.ssh.port, user=place.ssh.user)
