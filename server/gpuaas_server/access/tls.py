"""The files of the API's https listener: a server certificate of the platform's own CA, renewed at start."""

import asyncio
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_server.access import keys, tls_authority
from gpuaas_server.access.keys import PlatformKey
from gpuaas_server.kernel.context import Platform


@dataclass(frozen=True, slots=True)
class TlsFiles:
    cert_path: Path
    key_path: Path
    ca_path: Path


async def authority_pem(platform: Platform) -> str:
    """The CA certificate that agents and people's clients trust. The oldest living one: it is what they have pinned."""
    return _certificate(await _authority(platform))


async def authority_digest(platform: Platform) -> str:
    return tls_authority.authority_digest(await authority_pem(platform))


async def ensure_server_certificate(platform: Platform, names: list[str], directory: Path) -> TlsFiles:
    """The files, made or renewed when they are missing, near their end, of another CA, or for other names."""
    authority = await _authority(platform)
    files = TlsFiles(directory / "server.crt", directory / "server.key", directory / "ca.crt")
    await asyncio.to_thread(_ensure, files, authority, names, platform.clock())
    return files


async def _authority(platform: Platform) -> PlatformKey:
    return (await keys.live_keys(platform, "tls_ca"))[-1]


def _ensure(files: TlsFiles, authority: PlatformKey, names: list[str], now: datetime) -> None:
    files.cert_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority_text = _certificate(authority)
    _replace(files.ca_path, authority_text, 0o644)
    if files.cert_path.exists() and files.key_path.exists():
        if tls_authority.still_good(files.cert_path.read_text(), authority_text, names, now):
            return
    if not isinstance(authority.private, ec.EllipticCurvePrivateKey):
        raise TypeError("the TLS authority has an unexpected key type")
    private = ec.generate_private_key(ec.SECP256R1())
    certificate = tls_authority.server_certificate(authority_text, authority.private, private.public_key(), names, now)
    key_text = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    _replace(files.key_path, key_text, 0o600)
    _replace(files.cert_path, certificate, 0o644)


def _certificate(authority: PlatformKey) -> str:
    if authority.certificate is None:
        raise RuntimeError("the TLS authority has no certificate")
    return authority.certificate


def _replace(path: Path, text: str, mode: int) -> None:
    """Whole or not at all: a listener that starts meanwhile never reads half a file."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
