"""A certificate authority of a test, and certificates of servers that it signs."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class ServerFiles:
    """What a server with TLS reads, and what its clients must know."""

    certificate: Path
    key: Path
    ca_file: Path


def _builder(name: str, issuer: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
    )


class Authority:
    def __init__(self, folder: Path, name: str = "an authority of a test") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        constraint = x509.BasicConstraints(ca=True, path_length=0)
        own = _builder(name, name, self._key.public_key()).add_extension(constraint, critical=True)
        self.pem = own.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_text(self.pem)

    def server_files(self, address: str) -> ServerFiles:
        """Sign a certificate for a server at this address."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        signed = _builder("a server", self._name, key.public_key()).add_extension(names, critical=False)
        certificate, private = self._folder / f"{address}.crt", self._folder / f"{address}.key"
        pem = serialization.Encoding.PEM
        certificate.write_bytes(signed.sign(self._key, hashes.SHA256()).public_bytes(pem))
        private.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        return ServerFiles(certificate, private, self.ca_file)
