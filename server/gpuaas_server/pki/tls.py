"""The files of the API's https listener: a server certificate of the platform's own CA, renewed while we run.

While the CA is being rotated, the chain also carries the new authority's key signed by the one before it, and so on to the
oldest that is still trusted: agents and people who know only an older one verify us all the same.
"""

import asyncio
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.pki import keys, tls_authority
from gpuaas_server.pki.keys import PlatformKey
from gpuaas_server.pki.rows import PublishedKey


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Two files: the chain with its private key, so that both are replaced together, and the CAs that are trusted."""

    chain_path: Path
    ca_path: Path

    def expiry(self) -> datetime:
        return tls_authority.expiry(self.chain_path.read_text())


@dataclass(frozen=True, slots=True)
class _CertificateSpec:
    """Says what the server's certificate must contain, and who signs it."""

    names: list[str]
    authority: PublishedKey  # that signs now
    older: list[PublishedKey]  # trusted beside it
    trusted: list[PublishedKey]
    life: timedelta


def server_files(directory: Path) -> TlsFiles:
    return TlsFiles(directory / "server.pem", directory / "ca.crt")


async def authority_pem(platform: Platform) -> str:
    """Return the CA certificate that enrolment bundles pin: the oldest live one, by which every client can verify us."""
    return _certificate((await keys.authorities(platform, "tls_ca"))[-1])


async def pinned_digest(platform: Platform) -> str:
    """Return the digest by which an enrolment bundle names that certificate."""
    return tls_authority.authority_digest(await authority_pem(platform))


async def trusted_pems(platform: Platform) -> list[str]:
    """Return every CA certificate that is trusted now, also one that signs only later; newest first."""
    return [_certificate(key) for key in await keys.authorities(platform, "tls_ca")]


async def ensure_server_certificate(platform: Platform, names: list[str], directory: Path) -> TlsFiles:
    """Return the files; make or renew them when they are missing, in their last third, of another CA, or for other names."""
    trusted, now = await keys.authorities(platform, "tls_ca"), platform.clock()
    authority = keys.signer(trusted, now)
    older = [key for key in trusted if key.kid < authority.kid]
    life = timedelta(days=platform.settings.tls_certificate_days)
    spec = _CertificateSpec(names, authority, older, trusted, life)
    files = server_files(directory)
    if not await asyncio.to_thread(_are_good, files, spec, now):
        private = {key.kid: key for key in await keys.live_keys(platform, "tls_ca")}
        await asyncio.to_thread(_renew, files, spec, private, now)
    return files


def _are_good(files: TlsFiles, spec: _CertificateSpec, now: datetime) -> bool:
    if not (files.chain_path.exists() and files.ca_path.exists()) or files.ca_path.read_text() != _bundle(spec.trusted):
        return False
    older = [_certificate(key) for key in spec.older]
    chain, authority = files.chain_path.read_text(), _certificate(spec.authority)
    return tls_authority.still_good(chain, authority, older, spec.names, spec.life, now)


def _renew(files: TlsFiles, spec: _CertificateSpec, private: dict[str, PlatformKey], now: datetime) -> None:
    """Renew the files, one process at a time: several may share the directory."""
    directory = files.chain_path.parent
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(directory / ".lock"):
        if _are_good(files, spec, now):
            return
        own = ec.generate_private_key(ec.SECP256R1())
        chain = _chain(spec, private, own.public_key(), now)
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        key_text = own.private_bytes(encoding, form, serialization.NoEncryption()).decode()
        replace_file(files.ca_path, _bundle(spec.trusted), 0o644)
        replace_file(files.chain_path, chain + key_text, 0o600)
        for name in ("server.crt", "server.key"):  # of an older release
            (directory / name).unlink(missing_ok=True)


def _chain(
    spec: _CertificateSpec, private: dict[str, PlatformKey], public: ec.EllipticCurvePublicKey, now: datetime
) -> str:
    authority_text = _certificate(spec.authority)
    signing = _authority_key(private[spec.authority.kid])
    chain = tls_authority.server_certificate(authority_text, signing, public, spec.names, now, spec.life)
    for successor, key in pairwise([spec.authority, *spec.older]):
        older = (_certificate(key), _authority_key(private[key.kid]))
        chain += tls_authority.cross_certificate(_certificate(successor), *older, now, spec.life)
    return chain


def _authority_key(key: PlatformKey) -> ec.EllipticCurvePrivateKey:
    if not isinstance(key.private, ec.EllipticCurvePrivateKey):
        raise TypeError("the TLS authority has an unexpected key type")
    return key.private


def _bundle(trusted: Sequence[PublishedKey]) -> str:
    return "".join(_certificate(key) for key in trusted)


def _certificate(authority: PublishedKey) -> str:
    if authority.certificate is None:
        raise RuntimeError("the TLS authority has no certificate")
    return authority.certificate


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, text: str, mode: int) -> None:
    """Replace the file whole or not at all: a listener that starts meanwhile never reads half a file."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
