"""Client certificates of service accounts: which are registered, and until when. The client CA that signs them is in `pki`."""

from datetime import datetime

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.queries import certificates as queries
from gpuaas_server.identity.queries import service_accounts as account_queries
from gpuaas_server.identity.rows import NewCertificateRow
from gpuaas_server.identity.schemas import ServiceAccountCertificate
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of

__all__ = [
    "NewCertificate",
    "certificate_delete",
    "certificate_list",
    "certificate_register",
    "certificates_end",
    "certificates_of_authority",
]

MAX_LIVE_CERTIFICATES = 10


@dataclass(frozen=True, slots=True)
class NewCertificate:
    """A certificate that was just signed for a service account."""

    id: str
    service_account_id: str
    thumbprint: str
    authority_id: str
    expires_at: datetime


async def certificate_register(tx: Tx, project_id: str, new: NewCertificate) -> ServiceAccountCertificate:
    """Register a certificate that was just signed. Expired ones of the account are forgotten on the way."""
    account_id = new.service_account_id
    account = await account_queries.service_account_lock(tx.connection, project_id, account_id)
    if account is None:
        raise not_found("service account", account_id)
    await queries.certificates_delete_expired(tx.connection, account_id, tx.now)
    if await queries.certificate_count(tx.connection, account_id) >= MAX_LIVE_CERTIFICATES:
        raise Problem(
            "conflict", f"A service account has at most {MAX_LIVE_CERTIFICATES} certificates: delete one first."
        )
    row = await queries.certificate_insert(
        tx.connection,
        NewCertificateRow(
            id=new.id,
            tenant_id=account.tenant_id,
            service_account_id=account_id,
            thumbprint=new.thumbprint,
            authority_id=new.authority_id,
            expires_at=new.expires_at,
            created_by=tx.actor.id,
            created_at=tx.now,
        ),
    )
    details: dict[str, object] = {"certificate": new.id, "thumbprint": new.thumbprint, "expires_at": new.expires_at}
    place = (account_id, account.tenant_id, project_id)
    await record(tx, AuditEntry("service_account_certificate_create", *place, details=details))
    tx.wakeups.add(TOPIC)
    return ServiceAccountCertificate(**fields_of(row))


async def certificate_list(
    connection: Connection, project_id: str, account_id: str, page: PageRequest
) -> Page[ServiceAccountCertificate]:
    if await account_queries.service_account_show(connection, project_id, account_id) is None:
        raise not_found("service account", account_id)
    rows = await queries.certificate_list(connection, account_id, page)
    return Page[ServiceAccountCertificate].of([ServiceAccountCertificate(**fields_of(row)) for row in rows], page)


async def certificate_delete(tx: Tx, project_id: str, account_id: str, certificate_id: str) -> None:
    """End a certificate: tokens that are bound to it are refused from now on."""
    account = await account_queries.service_account_lock(tx.connection, project_id, account_id)
    if account is None:
        raise not_found("service account", account_id)
    thumbprint = await queries.certificate_delete(tx.connection, account_id, certificate_id)
    if thumbprint is None:
        raise not_found("certificate", certificate_id)
    details: dict[str, object] = {"certificate": certificate_id, "thumbprint": thumbprint}
    place = (account_id, account.tenant_id, project_id)
    await record(tx, AuditEntry("service_account_certificate_delete", *place, details=details))
    tx.wakeups.add(TOPIC)


async def certificates_of_authority(connection: Connection, authority_id: str, now: datetime) -> int:
    """Return how many certificates of this client CA are in use."""
    return await queries.certificates_of_authority(connection, authority_id, now)


async def certificates_end(tx: Tx, authority_id: str) -> None:
    """End every certificate of a client CA. The caller writes the audit row."""
    await queries.certificates_of_authority_delete(tx.connection, authority_id)
    tx.wakeups.add(TOPIC)
