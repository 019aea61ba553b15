"""Host certificates for nodes: of a node's own sshd, or of an allocation that is claimed on it."""

from datetime import datetime

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.nodes import addresses, queries
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import CertificateRequest, read_public_key


@dataclass(frozen=True, slots=True)
class NewHostCertificate:
    node_id: str
    allocation_id: str | None
    public_key: str
    address: str


@dataclass(frozen=True, slots=True)
class SignedHostCertificate:
    certificate: str
    valid_before: datetime


async def host_certificate_create(
    platform: Platform, actor: Actor, wanted: NewHostCertificate
) -> SignedHostCertificate:
    """Sign for address, node id and allocation id. A client that checks the allocation id (HostKeyAlias) cannot be
    sent to another host, because only the node that holds the claim gets that name.
    """
    public = read_public_key(wanted.public_key)
    authority = pki.signer(await pki.live_keys(platform, "ssh_host_ca"), platform.clock())
    async with platform.transaction(PLATFORM, actor) as tx:
        if wanted.allocation_id is not None:
            if wanted.allocation_id not in await capacity.live_claims(tx.connection, wanted.node_id):
                raise Problem("forbidden", "This allocation is not claimed on this node.")
        if not await addresses.address_is_of_node(tx, wanted.node_id, wanted.address):
            raise Problem("forbidden", "This address does not belong to this node.")
        valid_before = tx.now + pki.HOST_CERTIFICATE_LIFE
        serial = await queries.host_certificate_insert(
            tx.connection,
            wanted.node_id,
            wanted.allocation_id,
            wanted.address,
            public.fingerprint,
            valid_before,
            tx.now,
        )
        names = (wanted.address, wanted.node_id, wanted.allocation_id)
        details: dict[str, object] = {"serial": serial, "address": wanted.address, "fingerprint": public.fingerprint}
        resource = wanted.allocation_id or wanted.node_id
        await audit.record(tx, AuditEntry("agent_host_certificate", resource, details=details))
    request = CertificateRequest(
        public_key=public.key,
        serial=serial,
        key_id=f"host:{wanted.node_id}",
        principals=tuple(name for name in names if name is not None),
        valid_after=valid_before - pki.HOST_CERTIFICATE_LIFE - pki.SSH_CLOCK_SLACK,
        valid_before=valid_before,
    )
    return SignedHostCertificate(pki.sign_host_certificate(authority, request), valid_before)


async def host_certificates_forget(tx: Tx, before: datetime, portion: int) -> int:
    """Remove those that expired before then: an expired certificate proves nothing."""
    return await queries.host_certificates_delete_before(tx.connection, before, portion)
