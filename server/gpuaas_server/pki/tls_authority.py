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
CLOCK_SLACK = timedelta(minutes=5)


def certificate_of_authority(
    private: ec.EllipticCurvePrivateKey,
    now: datetime,
    common_name: str = "gpuaas platform CA",
    path_length: int = 1,
) -> str:
    """Return the authority's own certificate. A path length of 1 allows for the certificate that it gives its successor."""
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
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(key_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(private, hashes.SHA256())
    )
    return _pem(certificate)


def cross_certificate(
    successor_pem: str, authority_pem: str, authority_key: ec.EllipticCurvePrivateKey, now: datetime, life: timedelta
) -> str:
    """Sign the successor's key with an older authority, so that clients that trust only the older one can verify it.

    Both have the same name, so it is self-issued and does not count as a step of the path (RFC 5280, 6.1.4).
    """
    successor, authority = _load(successor_pem), _load(authority_pem)
    issuer_key = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    subject_key = successor.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    begin = now - CLOCK_SLACK
    certificate = (
        x509.CertificateBuilder()
        .subject_name(successor.subject)
        .issuer_name(authority.subject)
        .public_key(successor.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(min(begin + life, authority.not_valid_after_utc, successor.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(authority=True), critical=True)
        .add_extension(subject_key, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return _pem(certificate)


def server_certificate(
    authority_pem: str,
    authority_key: ec.EllipticCurvePrivateKey,
    public: ec.EllipticCurvePublicKey,
    names: Sequence[str],
    now: datetime,
    life: timedelta,
) -> str:
    authority, begin = _load(authority_pem), now - CLOCK_SLACK
    issuer_key = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpuaas api")]))
        .issuer_name(authority.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(min(begin + life, authority.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return _pem(certificate)


def still_good(
    chain_pem: str, authority_pem: str, older_pems: Sequence[str], names: Sequence[str], life: timedelta, now: datetime
) -> bool:
    """Tell whether the chain can still be used: it has these names, leads to this authority and then to each older one, and is
    in the first two thirds of its life. A certificate from the future, after a clock was set back, cannot be used.
    """
    chain = x509.load_pem_x509_certificates(chain_pem.encode())
    authority, older = _load(authority_pem), [_load(pem) for pem in older_pems]
    certificate, crossing = chain[0], chain[1:]
    try:
        certificate.verify_directly_issued_by(authority)
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        for cross, root in zip(crossing, older, strict=True):
            cross.verify_directly_issued_by(root)
    except Exception:  # of another authority, or not one of ours at all: either way it is replaced
        return False
    if not {_general_name(name) for name in names} <= set(listed):
        return False
    return all(_is_young(one, life, now) for one in chain)


def _is_young(certificate: x509.Certificate, life: timedelta, now: datetime) -> bool:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begin <= now < begin + (end - begin) * 2 / 3 and end - begin <= life


def expiry(chain_pem: str) -> datetime:
    """Return when the first certificate of the chain ends."""
    return min(one.not_valid_after_utc for one in x509.load_pem_x509_certificates(chain_pem.encode()))


def authority_digest(authority_pem: str) -> str:
    """Return what an enrolment bundle pins: SHA-256 of the certificate's DER."""
    authority = _load(authority_pem)
    return hashlib.sha256(authority.public_bytes(serialization.Encoding.DER)).hexdigest()


def _load(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def key_usage(authority: bool) -> x509.KeyUsage:
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
