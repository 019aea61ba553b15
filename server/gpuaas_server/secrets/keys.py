"""The keys that wrap data keys, as administrators see them: listed, rotated. The worker wraps anew what they protect."""

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.secrets import backends, queries
from gpuaas_server.secrets.openbao import OpenBao
from gpuaas_server.secrets.schemas import SecretKey
from gpuaas_server.work import leases

REWRAP = "secret_rewrap"
SUBJECT = "platform"


async def secret_key_list(connection: Connection, page: PageRequest) -> Page[SecretKey]:
    rows = await queries.key_list(connection, page)
    return Page[SecretKey].of([SecretKey(**fields_of(row)) for row in rows], page)


async def external_rotation(platform: Platform) -> int | None:
    """Rotate the key in the external store, before the transaction. The answer is its new version; None for a built-in key."""
    if platform.settings.custody_backend != "openbao":
        return None
    await backends.current_key(platform)  # what there was before gets its row, so that it is seen to retire
    return await OpenBao(platform.settings).key_rotate()


async def secret_key_rotate(tx: Tx, platform: Platform, external_version: int | None, reason: str) -> SecretKey:
    """Make a new wrapping key. New secrets use it from now on; the worker wraps all others anew, then destroys the old key."""
    await queries.keys_lock(tx.connection)
    made = await backends.key_create(tx, platform, external_version)
    await leases.enqueue(tx, REWRAP, [SUBJECT])
    details: dict[str, object] = {"backend": made.backend, "version": made.version}
    await audit.record(tx, AuditEntry("secret_key_rotate", made.id, reason=reason, details=details))
    return SecretKey(
        id=made.id, backend=made.backend, version=made.version, created_at=tx.now, retired_at=None, protects=0
    )
