"""Keep a secret, open it, destroy it. Prepare and open reach beyond the database, so they happen outside transactions.

With the external store, three parts make a secret: the sealed value (there), its wrapped data key (in the database), and
the key that wraps it (there, never here). A value that was put there for a change that failed is noise that nobody can open.
"""

from collections.abc import Sequence
from secrets import token_hex

from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.secrets import backends, envelope, queries
from gpuaas_server.secrets.backends import WrappingKey
from gpuaas_server.secrets.envelope import SecretRef, unreadable
from gpuaas_server.secrets.openbao import OpenBao
from gpuaas_server.secrets.private_keys import (
    DESTROYED,
    UNDER_MASTER_KEY,
    KeySource,
    PreparedPrivateKey,
    SealedKey,
    custody_of,
    private_key_open,
    private_key_prepare,
    private_key_store,
    private_keys_destroy,
)
from gpuaas_server.secrets.rows import NewSecretVersion, SecretVersion, VersionToErase
from gpuaas_server.secrets.sealed_box import BOX_FORMAT, seal_to
from gpuaas_server.work import leases

__all__ = [
    "BOX_FORMAT",
    "DESTROYED",
    "ERASE",
    "OPEN_TRIES",
    "UNDER_MASTER_KEY",
    "KeySource",
    "PreparedPrivateKey",
    "PreparedSecret",
    "SealedKey",
    "SecretOwner",
    "SecretRef",
    "custody_of",
    "destroy_portion",
    "private_key_open",
    "private_key_prepare",
    "private_key_store",
    "private_keys_destroy",
    "seal_to",
    "secret_destroy",
    "secret_discard",
    "secret_open",
    "secret_prepare",
    "secret_store",
    "versions_erase",
]


ERASE = "secret_erase"
OPEN_TRIES = 2  # a rotation may retire the key between two of our reads


@dataclass(frozen=True, slots=True)
class SecretOwner:
    """The project that a secret belongs to, and what it is for."""

    tenant_id: str
    project_id: str
    purpose: str


@dataclass(frozen=True, slots=True)
class PreparedSecret:
    """A sealed secret, which the external store may have already. It counts from the transaction that stores it."""

    ref: SecretRef
    owner: SecretOwner
    key_id: str
    wrapped_key: bytes
    sealed_value: bytes | None
    kept_in: str
    store_name: str | None


async def secret_prepare(
    platform: Platform, owner: SecretOwner, clear: bytes, ref: SecretRef | None = None
) -> PreparedSecret:
    """Seal a new secret, or (with `ref`) a further version of one. Several may prepare the same version at once: each puts
    its value at a name of its own, so that who comes too late takes back nothing but that.
    """
    store_name = None if ref is None else f"{ref.secret_id}/{ref.version}-{token_hex(8)}"
    ref = ref or SecretRef(new_id("sec"), 1)
    key, data_key = await backends.current_key(platform), envelope.new_data_key()
    sealed = envelope.seal(data_key, ref, clear)
    wrapped = await backends.wrap(platform, key, ref, data_key)
    if key.backend == "openbao":
        await OpenBao(platform.settings).put(_name(ref, store_name), sealed)
        return PreparedSecret(ref, owner, key.id, wrapped, None, key.backend, store_name)
    return PreparedSecret(ref, owner, key.id, wrapped, sealed, key.backend, None)


async def secret_discard(platform: Platform, prepared: PreparedSecret) -> None:
    """Remove a value that was not stored after all. When the store is unavailable it stays there, and harms nobody."""
    if prepared.kept_in == "openbao":
        try:
            await OpenBao(platform.settings).erase(_name(prepared.ref, prepared.store_name))
        except Problem:
            return  # already in the log


async def secret_store(tx: Tx, prepared: PreparedSecret) -> None:
    if not await queries.key_share(tx.connection, prepared.key_id):
        raise Problem("secret_store_unavailable", "The keys of the secret store were rotated at the same time.")
    owner, ref = prepared.owner, prepared.ref
    row = NewSecretVersion(
        id=ref.secret_id,
        version=ref.version,
        tenant_id=owner.tenant_id,
        project_id=owner.project_id,
        purpose=owner.purpose,
        key_id=prepared.key_id,
        wrapped_key=prepared.wrapped_key,
        sealed_value=prepared.sealed_value,
        kept_in=prepared.kept_in,
        store_name=prepared.store_name,
        created_at=tx.now,
    )
    await queries.secret_insert(tx.connection, row)


async def secret_open(platform: Platform, scope: Scope, ref: SecretRef) -> bytes:
    """Return the value in clear, for the caller's memory only."""
    for _ in range(OPEN_TRIES):
        async with platform.database.connection(scope) as connection:
            row = await queries.secret_find(connection, ref.secret_id, ref.version)
            key = None if row is None else await backends.find_key(platform, connection, row.key_id)
        if row is None or row.destroyed_at is not None:
            raise unreadable(ref)
        if key is not None:
            return await _open(platform, ref, row, key)
    raise unreadable(ref)


async def _open(platform: Platform, ref: SecretRef, row: SecretVersion, key: WrappingKey) -> bytes:
    if row.wrapped_key is None:
        raise unreadable(ref)
    data_key = await backends.unwrap(platform, key, ref, row.wrapped_key)
    sealed = row.sealed_value
    if row.kept_in == "openbao":
        sealed = await OpenBao(platform.settings).get(_name(ref, row.store_name))
    if sealed is None:
        raise unreadable(ref)
    return envelope.open_sealed(data_key, ref, sealed)


async def secret_destroy(tx: Tx, secret_id: str, up_to_version: int) -> None:
    """Destroy versions: from the commit on nobody can open them. What the external store has is erased right after."""
    gone = await queries.versions_destroy(tx.connection, secret_id, up_to_version, tx.now)
    if any(row.kept_in == "openbao" for row in gone):
        await leases.enqueue(tx, ERASE, [secret_id])


async def destroy_portion(tx: Tx, project_id: str, portion: int) -> int:
    """Destroy some more of a project's secrets. The answer is how many may still lie in the external store."""
    gone = await queries.project_secrets_destroy(tx.connection, project_id, tx.now, portion)
    in_store = sorted({row.id for row in gone if row.kept_in == "openbao"})
    if in_store:
        await leases.enqueue(tx, ERASE, in_store)
    return await queries.project_secrets_unerased(tx.connection, project_id)


def _name(ref: SecretRef, store_name: str | None) -> str:
    return store_name or f"{ref.secret_id}/{ref.version}"


async def versions_erase(platform: Platform, secret_id: str, versions: Sequence[VersionToErase]) -> None:
    for one in versions:
        await OpenBao(platform.settings).erase(_name(SecretRef(secret_id, one.version), one.store_name))
