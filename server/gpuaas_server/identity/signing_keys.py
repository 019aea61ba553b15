"""The keys that sign access tokens: made, rotated, published. The private part is in custody and opened only to sign."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.queries import signing_keys as queries
from gpuaas_server.identity.rows import SealedSigningKey, SigningKeyRow
from gpuaas_server.identity.schemas import JsonWebKey, JsonWebKeySet, SigningKey
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import DESTROYED, UNDER_MASTER_KEY, KeySource, PreparedPrivateKey, SealedKey

PURPOSE = "token-signing-key"
TOPIC = "identity"


@dataclass(frozen=True, slots=True)
class NewSigningKey:
    """A new key that is sealed, for a transaction to store."""

    id: str
    private: Ed25519PrivateKey
    prepared: PreparedPrivateKey

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


async def signing_key_prepare(platform: Platform) -> NewSigningKey:
    """Make a key and seal it. Call it before the transaction that stores it, not inside."""
    private, key_id = Ed25519PrivateKey.generate(), new_id("sgk")
    clear = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return NewSigningKey(key_id, private, await secrets.private_key_prepare(platform, key_id, clear))


async def verifying_keys(connection: Connection, now: datetime) -> dict[str, tuple[Ed25519PublicKey, datetime | None]]:
    """Return the public keys that tokens are verified by now, each with the time until which it verifies."""
    rows = await queries.signing_key_verifying(connection, now)
    return {row.id: (Ed25519PublicKey.from_public_bytes(row.public_key), row.verifies_until) for row in rows}


async def ensure_signing_key(platform: Platform) -> None:
    """Make sure, at every start, that there is a key and that it is open. The lock makes replicas that start together agree."""
    async with platform.database.connection(PLATFORM) as connection:
        if await queries.signing_key_current(connection) is not None:
            await signing_key(platform, connection)
            return
    new = await signing_key_prepare(platform)
    async with platform.transaction(PLATFORM, system_actor("identity/start")) as tx:
        await queries.signing_key_lock(tx.connection)
        if await queries.signing_key_current(tx.connection) is None:
            await _store(tx, new)
            await record(tx, AuditEntry("signing_key_rotate", new.id, details={"first": True}))


async def signing_key_rotate(tx: Tx, new: NewSigningKey, token_minutes: int) -> SigningKey:
    """Store a new key, which signs from now on. The old one verifies until its last token has expired."""
    await queries.signing_key_lock(tx.connection)
    signed = await queries.signing_key_retire(tx.connection, tx.now + timedelta(minutes=token_minutes + 1))
    await secrets.private_keys_destroy(tx, signed)
    await _store(tx, new)
    await record(tx, AuditEntry("signing_key_rotate", new.id))
    made = SigningKeyRow(new.id, new.public, created_at=tx.now, verifies_until=None, sealed=False)
    return (await _documents(tx.connection, [made]))[0]


async def signing_key_revoke(tx: Tx, new: NewSigningKey, key_id: str) -> None:
    """End a leaked key: all its tokens end now. If it was the one that signs, `new` takes over."""
    await queries.signing_key_lock(tx.connection)
    before = await queries.signing_key_revoke(tx.connection, key_id, tx.now)
    if before is None:
        raise not_found("signing key", key_id)
    await secrets.private_keys_destroy(tx, [key_id])
    details: dict[str, object] = {}
    if before.verifies_until is None:
        await _store(tx, new)
        details["followed_by"] = new.id
    await record(tx, AuditEntry("signing_key_revoke", key_id, details=details))
    tx.wakeups.add(TOPIC)


async def _store(tx: Tx, new: NewSigningKey) -> None:
    await queries.signing_key_insert(tx.connection, new.id, new.public, tx.now)
    await secrets.private_key_store(tx, new.prepared)
    tx.wakeups.add(TOPIC)


async def signing_key(platform: Platform, connection: Connection) -> tuple[str, Ed25519PrivateKey]:
    """Return the key that signs now. Its id is read for each sign-in, so that no replica signs with an older one.

    A process opens it once: it asks the secret store at start and after a rotation, not for each token.
    """
    row = await queries.signing_key_current(connection)
    if row is None:
        raise RuntimeError("there is no signing key: ensure_signing_key must run at start")
    known = platform.private_keys.get(PURPOSE, {})
    if row.id not in known:
        known = {row.id: await _open(platform, connection, row)}
        platform.private_keys[PURPOSE] = known
    private = known[row.id]
    if not isinstance(private, Ed25519PrivateKey):
        raise TypeError(f"the signing key {row.id} is not Ed25519")
    return row.id, private


async def _open(platform: Platform, connection: Connection, row: SealedSigningKey) -> Ed25519PrivateKey:
    sealed = row.sealed_private_key
    if sealed is not None:  # of an older release; the worker moves it
        return Ed25519PrivateKey.from_private_bytes(platform.sealer.open(sealed, _purpose(row.id)))
    return Ed25519PrivateKey.from_private_bytes(await secrets.private_key_open(platform, connection, row.id))


async def _list_sealed(connection: Connection) -> list[SealedKey]:
    rows = await queries.signing_keys_sealed(connection)
    return [
        SealedKey(row.id, _purpose(row.id), row.sealed_private_key)
        for row in rows
        if row.sealed_private_key is not None
    ]


KEY_SOURCE = KeySource(_list_sealed, queries.signing_key_moved)


def _purpose(key_id: str) -> str:
    return f"{PURPOSE}:{key_id}"


async def signing_key_list(connection: Connection, page: PageRequest) -> Page[SigningKey]:
    rows = await queries.signing_key_list(connection, page)
    return Page[SigningKey].of(await _documents(connection, rows), page)


async def _documents(connection: Connection, rows: Sequence[SigningKeyRow]) -> list[SigningKey]:
    """Return the wire documents of keys, each with what protects its private side."""
    protected = await secrets.custody_of(connection, [row.id for row in rows])
    found = []
    for row in rows:
        custody = protected.get(row.id, UNDER_MASTER_KEY if row.sealed else DESTROYED)
        found.append(
            SigningKey(
                id=row.id,
                created_at=row.created_at,
                verifies_until=row.verifies_until,
                fingerprint=sha256(row.public_key).hexdigest(),
                custody=custody.backend,
                secret_key_id=custody.secret_key_id,
            )
        )
    return found


async def auth_jwks(platform: Platform) -> JsonWebKeySet:
    async with platform.database.connection(PLATFORM) as connection:
        rows = await queries.signing_key_verifying(connection, platform.clock())
    return JsonWebKeySet(keys=[_json_web_key(row.id, row.public_key) for row in rows])


def _json_web_key(key_id: str, public: bytes) -> JsonWebKey:
    return JsonWebKey(kid=key_id, x=urlsafe_b64encode(public).rstrip(b"=").decode())
