"""The platform's own keys as administrators see them: listed, rotated, retired. Private sides stay in keys.py."""

from gpuaas_server.access import keys, queries
from gpuaas_server.access.keys import KeyKind
from gpuaas_server.access.schemas import PlatformKey, PlatformKeyRotate
from gpuaas_server.allocations import service as allocations
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.sealing import Sealer

TOLD_BY_TASK: KeyKind = "ssh_user_ca"  # the others are learnt from heartbeats, or asked for when needed


async def platform_key_list(connection: Connection, after: str | None, limit: int) -> Page[PlatformKey]:
    rows = await queries.platform_key_list(connection, after, limit + 1)
    return Page[PlatformKey].of([PlatformKey(**row) for row in rows], limit)


async def platform_key_rotate(tx: Tx, sealer: Sealer, body: PlatformKeyRotate) -> PlatformKey:
    made = await keys.key_rotate(tx, sealer, body.kind)
    await _changed(tx, "platform_key_rotate", made.kid, body.kind, body.reason)
    return await _show(tx.connection, made.kid)


async def platform_key_retire(tx: Tx, key_id: str, reason: str) -> PlatformKey:
    """Only when another one signs: nobody must be left without a key that hosts and agents trust."""
    await queries.platform_keys_lock(tx.connection)
    key = await _show(tx.connection, key_id)
    if key.retired_at is not None:
        raise Problem("conflict", "The key is retired already.")
    newer = await queries.platform_key_newer(tx.connection, key.kind, key_id)
    if not any(row["signs_from"] <= tx.now for row in newer):
        when = f"it does from {newer[0]['signs_from'].isoformat()}" if newer else "rotate first"
        raise Problem("conflict", f"No newer {key.kind} key signs yet: {when}.")
    await queries.platform_key_retire(tx.connection, key_id, tx.now)
    await _changed(tx, "platform_key_retire", key_id, key.kind, reason)
    return key.model_copy(update={"retired_at": tx.now})


async def _changed(tx: Tx, action: str, key_id: str, kind: KeyKind, reason: str) -> None:
    await audit.record(tx, AuditEntry(action, key_id, reason=reason, details={"kind": kind}))
    if kind == TOLD_BY_TASK:
        await allocations.access_changed_everywhere(tx)


async def _show(connection: Connection, key_id: str) -> PlatformKey:
    row = await queries.platform_key_show(connection, key_id)
    if row is None:
        raise not_found("platform key", key_id)
    return PlatformKey(**row)
