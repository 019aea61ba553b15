"""Deliveries of credentials: a certificate for somebody's key, or the private key sealed to theirs. Each is in the log."""

import base64
import hashlib
from datetime import datetime, timedelta

from gpuaas_server.access import credential_queries as queries
from gpuaas_server.access.certificates import IssueRequest, certificate_sources, certificates_issue
from gpuaas_server.access.credential_schemas import (
    AccessCredentialDeliver,
    CredentialDelivery,
    NewCredentialDelivery,
)
from gpuaas_server.access.credentials import present, require_not_revoked, secret_id_of
from gpuaas_server.access.grants import require_allocation
from gpuaas_server.access.rows import CredentialRow, DeliveryRow
from gpuaas_server.access.schemas import SshCertificate
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection, Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki.service import PlatformKey, read_public_key
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.schemas import SealedBox
from gpuaas_server.secrets.service import SecretRef


@dataclass(frozen=True, slots=True)
class SealedKey:
    """The private key of one version, sealed to a recipient before the transaction that logs it."""

    delivery_id: str
    version: int
    recipient_fingerprint: str
    box: SealedBox


async def seal_private_key(
    platform: Platform, scope: Scope, row: CredentialRow, recipient_key: str | None
) -> SealedKey:
    """Seal the private key to a recipient. Only here a key in custody is in clear, in this function's memory."""
    if recipient_key is None:
        raise Problem("invalid_request", "recipient_key: a private key is delivered sealed to an X25519 public key.")
    require_not_revoked(row)
    delivery_id, version = new_id("dlv"), row.version
    info = f"gpuaas-delivery.v1:{row.id}:{version}:{delivery_id}"
    clear = await secrets.secret_open(platform, scope, SecretRef(secret_id_of(row), version))
    box = SealedBox(format=secrets.BOX_FORMAT, info=info, box=secrets.seal_to(recipient_key, clear, info))
    return SealedKey(delivery_id, version, _fingerprint(recipient_key), box)


async def private_key_deliver(tx: Tx, project_id: str, credential_id: str, sealed: SealedKey) -> NewCredentialDelivery:
    row = await _lock_living(tx, project_id, credential_id)
    if row.version != sealed.version:
        raise Problem(
            "conflict", "The credential was rotated at the same time. Request the delivery again for the new key."
        )
    logged = _logged(tx, sealed.delivery_id, row, sealed.recipient_fingerprint, None, None)
    await _record(tx, row, logged)
    return NewCredentialDelivery(**fields_of(logged), sealed_private_key=sealed.box, certificate=None)


async def certificate_deliver(
    tx: Tx,
    project_id: str,
    credential_id: str,
    body: AccessCredentialDeliver,
    authority: PlatformKey,
    settings: Settings,
) -> NewCredentialDelivery:
    if body.public_key is None or body.allocation_id is None or body.recipient_key is not None:
        raise Problem("invalid_request", "A certificate needs public_key and allocation_id, and no recipient_key.")
    public = read_public_key(body.public_key)
    row = await _lock_living(tx, project_id, credential_id)
    allocation = await require_allocation(tx.connection, project_id, body.allocation_id)
    until = tx.now + timedelta(minutes=body.minutes or settings.ssh_certificate_minutes)
    sources = certificate_sources(tx.actor, body.source_addresses, settings)
    request = IssueRequest(public, until, authority, sources, access_credential_id=row.id)
    [issued] = await certificates_issue(tx, [allocation], request)
    logged = _logged(tx, new_id("dlv"), row, public.fingerprint, body.allocation_id, issued)
    await _record(tx, row, logged, source_addresses=issued.source_addresses)
    return NewCredentialDelivery(**fields_of(logged), sealed_private_key=None, certificate=issued)


async def credential_delivery_list(
    connection: Connection, project_id: str, credential_id: str, page: PageRequest
) -> Page[CredentialDelivery]:
    await present(connection, project_id, credential_id)
    rows = await queries.delivery_list(connection, credential_id, page)
    return Page[CredentialDelivery].of([CredentialDelivery(**fields_of(row)) for row in rows], page)


async def _lock_living(tx: Tx, project_id: str, credential_id: str) -> CredentialRow:
    """Lock the credential: a revocation at the same moment comes before (we refuse) or after (it ends what we gave)."""
    row = await queries.credential_lock(tx.connection, project_id, credential_id)
    if row is None:
        raise not_found("access credential", credential_id)
    return require_not_revoked(row)


def _logged(
    tx: Tx,
    delivery_id: str,
    row: CredentialRow,
    fingerprint: str,
    allocation_id: str | None,
    issued: SshCertificate | None,
) -> DeliveryRow:
    return DeliveryRow(
        id=delivery_id,
        tenant_id=row.tenant_id,
        project_id=row.project_id,
        credential_id=row.id,
        version=row.version,
        delivered_to=tx.actor.id,
        recipient_fingerprint=fingerprint,
        allocation_id=allocation_id,
        serial=None if issued is None else issued.serial,
        correlation_id=tx.actor.correlation_id,
        delivered_at=tx.now,
    )


async def _record(tx: Tx, row: CredentialRow, logged: DeliveryRow, **more: object) -> None:
    tx.later.insert(queries.DELIVERY_INSERT, [fields_of(logged)])
    details: dict[str, object] = {
        "delivery": logged.id,
        "version": logged.version,
        "recipient": logged.recipient_fingerprint,
        "serial": logged.serial,
        **more,
    }
    entry = AuditEntry("access_credential_deliver", row.id, row.tenant_id, row.project_id, details=details)
    await audit.record(tx, entry)
    facts: dict[str, object] = {"version": logged.version, "delivered_to": logged.delivered_to}
    await emit(tx, NewEvent("access_credential.delivered", row.id, row.tenant_id, row.project_id, facts))


def _fingerprint(recipient_key: str) -> str:
    digest = hashlib.sha256(base64.b64decode(recipient_key)).digest()
    return f"SHA256:{base64.b64encode(digest).rstrip(b'=').decode()}"


async def deliveries_forget(tx: Tx, before: datetime, portion: int) -> int:
    """Delete old entries of the log, and return how many. Nothing else deletes any."""
    return await queries.deliveries_delete_before(tx.connection, before, portion)
