"""X.509 without input or output: the platform's own certificate authority and the API's server certificate."""

import hashlib
import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=90)
RENEW_BEFORE = timedelta(days=30)
CLOCK_SLACK = timedelta(minutes=5)


def certificate_of_authority(
    private: ec.EllipticCurvePrivateKey, now: datetime, common_name: str = "gpuaas platform CA"
) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    public = private.public_key()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(now + AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(private, hashes.SHA256())
    )
    return _pem(certificate)


def server_certificate(
    authority_pem: str,
    authority_key: ec.EllipticCurvePrivateKey,
    public: ec.EllipticCurvePublicKey,
    names: Sequence[str],
    now: datetime,
) -> str:
    authority = x509.load_pem_x509_certificate(authority_pem.encode())
    issuer_key = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpuaas api")]))
        .issuer_name(authority.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(min(now + SERVER_LIFE, authority.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return _pem(certificate)


def still_good(certificate_pem: str, authority_pem: str, names: Sequence[str], now: datetime) -> bool:
    """Whether the certificate serves these names, comes from this authority, and is not near its end."""
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
    authority = x509.load_pem_x509_certificate(authority_pem.encode())
    try:
        certificate.verify_directly_issued_by(authority)
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except Exception:  # of another authority, or not one of ours at all: either way it is replaced
        return False
    wanted = {_general_name(name) for name in names}
    return wanted <= set(listed) and now + RENEW_BEFORE < certificate.not_valid_after_utc


def authority_digest(authority_pem: str) -> str:
    """What an enrolment bundle pins: SHA-256 of the certificate's DER."""
    authority = x509.load_pem_x509_certificate(authority_pem.encode())
    return hashlib.sha256(authority.public_bytes(serialization.Encoding.DER)).hexdigest()


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
