"""Client certificates for programs: signed by the platform's client CA, registered for one service account."""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_server.access.schemas import NewServiceAccountCertificate, ServiceAccountCertificateCreate
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import NewCertificate
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.client_certificates import thumbprint_of
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import client_certificate, read_request


@dataclass(frozen=True, slots=True)
class SignedCertificate:
    """A certificate that is signed, and worth nothing until a transaction has registered it."""

    new: NewCertificate
    pem: str


async def sign_client_certificate(
    platform: Platform, account_id: str, body: ServiceAccountCertificateCreate
) -> SignedCertificate:
    """Sign a request. Call it before the transaction that registers the certificate, not inside."""
    public, now = read_request(body.certificate_request), platform.clock()
    authority = pki.signer(await pki.live_keys(platform, "client_ca"), now)
    if authority.certificate is None or not isinstance(authority.private, ec.EllipticCurvePrivateKey):
        raise TypeError("the client CA has no certificate, or a key of an unexpected type")
    expires_at = _expiry(authority.certificate, now, body.days)
    made = client_certificate(authority.certificate, authority.private, public, account_id, now, expires_at)
    thumbprint = thumbprint_of(made.public_bytes(serialization.Encoding.DER))
    new = NewCertificate(new_id("sac"), account_id, thumbprint, authority.kid, expires_at)
    return SignedCertificate(new, made.public_bytes(serialization.Encoding.PEM).decode())


async def certificate_create(tx: Tx, project_id: str, signed: SignedCertificate) -> NewServiceAccountCertificate:
    registered = await identity.certificate_register(tx, project_id, signed.new)
    return NewServiceAccountCertificate(**registered.model_dump(), certificate=signed.pem)


def _expiry(authority_pem: str, now: datetime, days: int) -> datetime:
    """Return the end in whole seconds, as certificates count, and never after the authority's own end."""
    wanted = (now + timedelta(days=days)).replace(microsecond=0)
    return min(wanted, x509.load_pem_x509_certificate(authority_pem.encode()).not_valid_after_utc)
