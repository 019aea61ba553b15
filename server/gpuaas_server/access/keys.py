"""The platform's own private keys: made at first use, kept sealed, several alive per kind so that they can be rotated.

Only this room sees a private key; others ask for a signature or for the public side.
"""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.access import queries, tls_authority
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.sealing import Sealer

KeyKind = Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "registry_token"]
KINDS: tuple[KeyKind, ...] = ("task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "registry_token")
PrivateKey = Ed25519PrivateKey | EllipticCurvePrivateKey

PUBLISHED_BEFORE_SIGNING = timedelta(minutes=10)  # ten heartbeats: every living agent has learnt the key


@dataclass(frozen=True, slots=True)
class PlatformKey:
    kid: str
    kind: KeyKind
    private: PrivateKey
    certificate: str | None
    signs_from: datetime


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """The public side, which needs no sealer to read."""

    kid: str
    kind: str
    ssh_line: str

    @property
    def raw(self) -> bytes:
        """The 32 bytes of an Ed25519 key: the end of the OpenSSH blob."""
        return base64.b64decode(self.ssh_line.split(" ")[1])[-32:]


async def live_keys(platform: Platform, kind: KeyKind) -> list[PlatformKey]:
    """Every key of the kind that others may still meet, newest first. Call it before a transaction, not inside."""
    async with platform.database.connection(PLATFORM) as connection:
        found = await _live(connection, platform.sealer, kind)
    if found:
        return found
    async with platform.transaction(PLATFORM, system_actor("platform-keys")) as tx:
        await queries.platform_keys_lock(tx.connection)
        found = await _live(tx.connection, platform.sealer, kind)
        return found or [await key_create(tx, platform.sealer, kind, signs_from=tx.now)]


async def ensure_keys(platform: Platform) -> None:
    """At start: make what is missing, so that readers of public keys find them."""
    for kind in KINDS:
        await live_keys(platform, kind)


async def published_keys(connection: Connection, *kinds: KeyKind) -> list[PublishedKey]:
    """Public sides of living keys, newest first."""
    rows = await queries.platform_keys_public(connection, kinds)
    return [PublishedKey(row["id"], row["kind"], row["public_key"]) for row in rows]


def signer(keys: list[PlatformKey], now: datetime) -> PlatformKey:
    """The newest key whose time to sign has come; the oldest one when (clock moved back) none has."""
    return next((key for key in keys if key.signs_from <= now), keys[-1])


async def key_rotate(tx: Tx, sealer: Sealer, kind: KeyKind) -> PlatformKey:
    """Add a key: published at once, signing later. The older ones stay valid until they are retired."""
    await queries.platform_keys_lock(tx.connection)
    return await key_create(tx, sealer, kind, signs_from=tx.now + PUBLISHED_BEFORE_SIGNING)


async def key_create(tx: Tx, sealer: Sealer, kind: KeyKind, signs_from: datetime) -> PlatformKey:
    private: PrivateKey
    certificate = None
    if kind == "tls_ca":
        # P-256: every TLS client verifies it; Ed25519 certificates are still refused by some.
        private = ec.generate_private_key(ec.SECP256R1())
        certificate = tls_authority.certificate_of_authority(private, tx.now)
    elif kind == "registry_token":
        # The registry believes a certificate, not a bare key, and knows no Ed25519.
        private = ec.generate_private_key(ec.SECP256R1())
        certificate = tls_authority.certificate_of_authority(private, tx.now, "gpuaas registry tokens")
    else:
        private = Ed25519PrivateKey.generate()
    kid = new_id("pky")
    clear = private.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    sealed = sealer.seal(clear, _purpose(kind, kid))
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    await queries.platform_key_insert(
        tx.connection, kid, kind, sealed, public.decode(), certificate, signs_from, tx.now
    )
    await audit.record(tx, AuditEntry("platform_key_create", kid, details={"kind": kind}))
    return PlatformKey(kid, kind, private, certificate, signs_from)


async def _live(connection: Connection, sealer: Sealer, kind: KeyKind) -> list[PlatformKey]:
    rows = await queries.platform_keys_live(connection, kind)
    return [
        PlatformKey(
            kid=row["id"],
            kind=kind,
            private=_open(sealer, bytes(row["sealed_private_key"]), kind, row["id"]),
            certificate=row["certificate"],
            signs_from=row["signs_from"],
        )
        for row in rows
    ]


def _open(sealer: Sealer, sealed: bytes, kind: KeyKind, kid: str) -> PrivateKey:
    private = serialization.load_der_private_key(sealer.open(sealed, _purpose(kind, kid)), None)
    if not isinstance(private, (Ed25519PrivateKey, EllipticCurvePrivateKey)):
        raise TypeError(f"platform key {kid} has an unexpected type")
    return private


def _purpose(kind: KeyKind, kid: str) -> str:
    return f"platform-key:{kind}:{kid}"
