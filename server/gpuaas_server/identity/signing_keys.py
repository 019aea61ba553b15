"""The keys that sign access tokens: made, rotated, published. The private part is opened only to sign."""

from base64 import urlsafe_b64encode
from datetime import timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.queries import signing_keys as queries
from gpuaas_server.identity.schemas import JsonWebKey, JsonWebKeySet, SigningKey
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.sealing import Sealer

PURPOSE = "token-signing-key"
TOPIC = "identity"


async def ensure_signing_key(platform: Platform) -> None:
    """At every start. The lock makes replicas that start together agree on one first key."""
    async with platform.transaction(PLATFORM, system_actor("identity/start")) as tx:
        await queries.signing_key_lock(tx.connection)
        if await queries.signing_key_current(tx.connection) is None:
            key_id = await _make(tx, platform.sealer)
            await record(tx, AuditEntry("signing_key_rotate", key_id, details={"first": True}))


async def signing_key_rotate(tx: Tx, sealer: Sealer, token_minutes: int) -> SigningKey:
    """A new key signs from now on; the old one verifies until its last token has expired."""
    await queries.signing_key_lock(tx.connection)
    await queries.signing_key_retire(tx.connection, tx.now + timedelta(minutes=token_minutes + 1))
    key_id = await _make(tx, sealer)
    await record(tx, AuditEntry("signing_key_rotate", key_id))
    return SigningKey(id=key_id, created_at=tx.now, verifies_until=None)


async def signing_key_revoke(tx: Tx, sealer: Sealer, key_id: str) -> None:
    """For a key that leaked: all tokens of it end at once. When it was the one that signs, another takes over."""
    await queries.signing_key_lock(tx.connection)
    before = await queries.signing_key_revoke(tx.connection, key_id, tx.now)
    if before is None:
        raise not_found("signing key", key_id)
    details: dict[str, object] = {}
    if before["verifies_until"] is None:
        details["followed_by"] = await _make(tx, sealer)
    await record(tx, AuditEntry("signing_key_revoke", key_id, details=details))
    tx.wakeups.add(TOPIC)


async def _make(tx: Tx, sealer: Sealer) -> str:
    key, key_id = Ed25519PrivateKey.generate(), new_id("sgk")
    private = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    sealed = sealer.seal(private, f"{PURPOSE}:{key_id}")
    await queries.signing_key_insert(tx.connection, key_id, public, sealed, tx.now)
    tx.wakeups.add(TOPIC)
    return key_id


async def signing_key(connection: Connection, sealer: Sealer) -> tuple[str, Ed25519PrivateKey]:
    """The key that signs now, read anew for each sign-in, so that no replica signs with an older one."""
    row = await queries.signing_key_current(connection)
    if row is None:
        raise RuntimeError("there is no signing key: ensure_signing_key must run at start")
    private = sealer.open(bytes(row["sealed_private_key"]), f"{PURPOSE}:{row['id']}")
    return row["id"], Ed25519PrivateKey.from_private_bytes(private)


async def signing_key_list(connection: Connection, after: str | None, limit: int) -> Page[SigningKey]:
    rows = await queries.signing_key_list(connection, after, limit + 1)
    return Page[SigningKey].of([SigningKey(**row) for row in rows], limit)


async def auth_jwks(platform: Platform) -> JsonWebKeySet:
    async with platform.database.connection(PLATFORM) as connection:
        rows = await queries.signing_key_verifying(connection, platform.clock())
    return JsonWebKeySet(keys=[_json_web_key(row["id"], bytes(row["public_key"])) for row in rows])


def _json_web_key(key_id: str, public: bytes) -> JsonWebKey:
    return JsonWebKey(kid=key_id, x=urlsafe_b64encode(public).rstrip(b"=").decode())
