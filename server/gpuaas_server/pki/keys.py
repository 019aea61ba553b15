"""The platform's own private keys: made at first use, kept in custody, several alive per kind so that they can be rotated.

Only this noun sees a private key; others ask for a signature or for the public side.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.pki import queries, tls_authority
from gpuaas_server.pki.rows import KeyKind, KeyRecord, LiveKey, PlatformKeyRow, PublishedKey
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import KeySource, PreparedPrivateKey, SealedKey

KINDS: tuple[KeyKind, ...] = ("task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token")
PrivateKey = Ed25519PrivateKey | EllipticCurvePrivateKey

TOPIC = "platform-keys"  # whoever made something with a key looks again when keys change
PUBLISHED_BEFORE_SIGNING = timedelta(minutes=10)  # ten heartbeats: every living agent has learnt the key


@dataclass(frozen=True, slots=True)
class PlatformKey:
    kid: str
    kind: KeyKind
    private: PrivateKey
    certificate: str | None
    signs_from: datetime


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that is made and sealed, and stored by a transaction."""

    kid: str
    kind: KeyKind
    private: PrivateKey
    certificate: str | None
    prepared: PreparedPrivateKey


async def live_keys(platform: Platform, kind: KeyKind) -> list[PlatformKey]:
    """Return every key of the kind that others may still meet, newest first. Call it before a transaction, not inside.

    Opened once in a process: after that, no signature waits for the secret store.
    """
    while True:
        async with platform.database.connection(PLATFORM) as connection:
            rows = await queries.platform_keys_live(connection, kind)
            known = platform.private_keys.get(kind, {})
            opened = {row.id: known.get(row.id) or await _open(platform, connection, kind, row) for row in rows}
        if rows:
            platform.private_keys[kind] = opened  # what was retired is forgotten
            return [PlatformKey(row.id, kind, opened[row.id], row.certificate, row.signs_from) for row in rows]
        await _make_first(platform, kind)


async def _make_first(platform: Platform, kind: KeyKind) -> None:
    new = await key_prepare(platform, kind)
    async with platform.transaction(PLATFORM, system_actor("platform-keys")) as tx:
        await queries.platform_keys_lock(tx.connection)
        if not await queries.platform_keys_live(tx.connection, kind):
            await _store(tx, new, tx.now)


async def ensure_keys(platform: Platform) -> None:
    """Make missing keys and open the others at start, so that readers find public sides and signers need not wait."""
    for kind in KINDS:
        await live_keys(platform, kind)


async def published_keys(connection: Connection, *kinds: KeyKind) -> list[PublishedKey]:
    """Return the public sides of live keys, newest first."""
    return await queries.platform_keys_public(connection, kinds)


async def authorities(platform: Platform, kind: KeyKind) -> list[PublishedKey]:
    """Return the public sides with certificates of live keys, newest first; make the first key when there is none."""
    async with platform.database.connection(PLATFORM) as connection:
        found = await published_keys(connection, kind)
    if found:
        return found
    await live_keys(platform, kind)
    async with platform.database.connection(PLATFORM) as connection:
        return await published_keys(connection, kind)


Dated = TypeVar("Dated", PlatformKey, PublishedKey)


def signer(keys: Sequence[Dated], now: datetime) -> Dated:
    """Return the newest key that may sign now; the oldest one when (the clock moved back) none may."""
    return next((key for key in keys if key.signs_from <= now), keys[-1])


async def key_rotate(tx: Tx, new: NewKey) -> PlatformKey:
    """Add a key: published at once, signing later. The older ones stay valid until they are retired."""
    await queries.platform_keys_lock(tx.connection)
    return await _store(tx, new, tx.now + PUBLISHED_BEFORE_SIGNING)


async def keys_lock(tx: Tx) -> None:
    """Let one transaction at a time change the set of keys."""
    await queries.platform_keys_lock(tx.connection)


async def key_list(connection: Connection, now: datetime, page: PageRequest) -> list[KeyRecord]:
    """List all keys, newest first."""
    return await queries.platform_key_list(connection, now, page)


async def key_show(connection: Connection, now: datetime, kid: str) -> KeyRecord | None:
    return await queries.platform_key_show(connection, now, kid)


async def newer_keys(connection: Connection, kind: KeyKind, kid: str) -> list[PublishedKey]:
    """List live keys of the kind that were made after this one, oldest first."""
    return await queries.platform_key_newer(connection, kind, kid)


async def key_prepare(platform: Platform, kind: KeyKind) -> NewKey:
    """Make a key and seal it. Call it before the transaction that stores it, not inside."""
    private, certificate = _make(kind, platform.clock())
    kid = new_id("pky")
    clear = private.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return NewKey(kid, kind, private, certificate, await secrets.private_key_prepare(platform, kid, clear))


async def key_retire(tx: Tx, kid: str) -> None:
    """Retire the key: its private side is destroyed, and nobody signs with it again."""
    await queries.platform_key_retire(tx.connection, kid, tx.now)
    await secrets.private_keys_destroy(tx, [kid])
    tx.wakeups.add(TOPIC)


def _make(kind: KeyKind, now: datetime) -> tuple[PrivateKey, str | None]:
    if kind == "tls_ca":
        # P-256: every TLS client verifies it; Ed25519 certificates are still refused by some.
        authority = ec.generate_private_key(ec.SECP256R1())
        return authority, tls_authority.certificate_of_authority(authority, now)
    if kind == "client_ca":
        authority = ec.generate_private_key(ec.SECP256R1())
        return authority, tls_authority.certificate_of_authority(authority, now, "gpuaas client CA", path_length=0)
    if kind == "registry_token":
        # The registry believes a certificate, not a bare key, and knows no Ed25519.
        issuer = ec.generate_private_key(ec.SECP256R1())
        return issuer, tls_authority.certificate_of_authority(issuer, now, "gpuaas registry tokens")
    return Ed25519PrivateKey.generate(), None


async def _store(tx: Tx, new: NewKey, signs_from: datetime) -> PlatformKey:
    encoding, form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    public = new.private.public_key().public_bytes(encoding, form).decode()
    row = PlatformKeyRow(new.kid, new.kind, public, new.certificate, signs_from, tx.now)
    await queries.platform_key_insert(tx.connection, row)
    await secrets.private_key_store(tx, new.prepared)
    await audit.record(tx, AuditEntry("platform_key_create", new.kid, details={"kind": new.kind}))
    tx.wakeups.add(TOPIC)
    return PlatformKey(new.kid, new.kind, new.private, new.certificate, signs_from)


async def _open(platform: Platform, connection: Connection, kind: KeyKind, row: LiveKey) -> PrivateKey:
    kid = row.id
    if row.sealed_private_key is not None:  # of an older release; the worker moves it
        clear = platform.sealer.open(row.sealed_private_key, _purpose(kind, kid))
    else:
        clear = await secrets.private_key_open(platform, connection, kid)
    private = serialization.load_der_private_key(clear, None)
    if not isinstance(private, (Ed25519PrivateKey, EllipticCurvePrivateKey)):
        raise TypeError(f"platform key {kid} has an unexpected type")
    return private


async def _list_sealed(connection: Connection) -> list[SealedKey]:
    rows = await queries.platform_keys_sealed(connection)
    return [SealedKey(row.id, _purpose(row.kind, row.id), row.sealed_private_key) for row in rows]


KEY_SOURCE = KeySource(_list_sealed, queries.platform_key_moved)


def _purpose(kind: KeyKind, kid: str) -> str:
    return f"platform-key:{kind}:{kid}"


async def user_ca_keys(connection: Connection) -> list[str]:
    """Return what a host's sshd trusts for logins, as OpenSSH lines, newest first."""
    return [key.ssh_line for key in await published_keys(connection, "ssh_user_ca")]


async def host_ca_keys(connection: Connection) -> list[str]:
    """Return what a client trusts for host keys, as OpenSSH lines."""
    return [key.ssh_line for key in await published_keys(connection, "ssh_host_ca")]


async def client_authority_bundle(platform: Platform) -> str:
    """Return every client CA that is trusted now, as PEM; also one that signs only later."""
    return "".join(one.certificate or "" for one in await authorities(platform, "client_ca"))
