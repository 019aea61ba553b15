"""X.509 without input or output: certificate requests of programs, and the client certificates that answer them."""

from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.pki.tls_authority import CLOCK_SLACK, key_usage

RequestedKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey
_CURVES = (ec.SECP256R1, ec.SECP384R1)
_RSA_BITS = range(2048, 4097)


def read_request(text: str) -> RequestedKey:
    """Return the public key of a certificate request, whose signature shows that the sender has the private one.

    Names and extensions of the request are ignored: the platform says whose certificate it is.
    """
    try:
        request = x509.load_pem_x509_csr(text.encode())
        key = request.public_key()
        genuine = request.is_signature_valid
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature) as error:
        raise Problem("certificate_request_invalid", "The text is not a certificate request.") from error
    if not genuine:
        raise Problem("certificate_request_invalid", "The request is not signed by its own key.")
    if isinstance(key, ed25519.Ed25519PublicKey):
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES):
        return key
    if isinstance(key, rsa.RSAPublicKey) and key.key_size in _RSA_BITS:
        return key
    raise Problem("certificate_request_invalid", "The key's type or size is not accepted.")


def client_certificate(
    authority_pem: str,
    authority_key: ec.EllipticCurvePrivateKey,
    public: RequestedKey,
    account_id: str,
    now: datetime,
    expires_at: datetime,
) -> x509.Certificate:
    """Sign a certificate for TLS clients only, in the name of the service account."""
    authority = x509.load_pem_x509_certificate(authority_pem.encode())
    issuer_key = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, account_id)]))
        .issuer_name(authority.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(expires_at)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
