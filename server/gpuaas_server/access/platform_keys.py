"""The platform's own keys as administrators see them: listed, rotated, retired. Private sides stay in keys.py."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.access import keys
from gpuaas_server.access import platform_key_queries as queries
from gpuaas_server.access.keys import KeyKind, NewKey
from gpuaas_server.access.schemas import PlatformKey, PlatformKeyRetire, PlatformKeyRotate, UnconfirmedNodes
from gpuaas_server.access.ssh_keys import fingerprint
from gpuaas_server.access.tls_authority import authority_digest
from gpuaas_server.allocations import service as allocations
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.nodes import service as nodes
from gpuaas_server.secrets import private_keys
from gpuaas_server.secrets.private_keys import DESTROYED, UNDER_MASTER_KEY

NAMES_SHOWN = 20
TOLD_BY_TASK: KeyKind = "ssh_user_ca"  # the others are learnt from heartbeats, or asked for when needed


async def platform_key_list(connection: Connection, now: datetime, after: str | None, limit: int) -> Page[PlatformKey]:
    rows = await queries.platform_key_list(connection, now, after, limit + 1)
    return Page[PlatformKey].of(await _documents(connection, rows), limit)


async def platform_key_rotate(tx: Tx, new: NewKey, body: PlatformKeyRotate) -> PlatformKey:
    made = await keys.key_rotate(tx, new)
    await _changed(tx, "platform_key_rotate", made.kid, body.kind, body.reason)
    return await _show(tx, made.kid)


async def platform_key_retire(tx: Tx, key_id: str, body: PlatformKeyRetire) -> PlatformKey:
    """Only when another one signs: nobody must be left without a key that hosts and agents trust."""
    await queries.platform_keys_lock(tx.connection)
    key = await _show(tx, key_id)
    if key.retired_at is not None:
        raise Problem("conflict", "The key is retired already.")
    newer = await queries.platform_key_newer(tx.connection, key.kind, key_id)
    if not any(row["signs_from"] <= tx.now for row in newer):
        when = f"it does from {newer[0]['signs_from'].isoformat()}" if newer else "rotate first"
        raise Problem("conflict", f"No newer {key.kind} key signs yet: {when}.")
    if key.kind == "tls_ca" and not body.force:
        await _refuse_unconfirmed(tx, next(row for row in reversed(newer) if row["signs_from"] <= tx.now))
    await keys.key_retire(tx, key_id)
    await _changed(tx, "platform_key_retire", key_id, key.kind, body.reason, body.force)
    return await _show(tx, key_id)


async def _refuse_unconfirmed(tx: Tx, successor: DictRow) -> None:
    """Agents that do not trust the CA that signs now would be cut off. Lost ones do not count: they may never return."""
    missing = await nodes.nodes_without_anchor(tx.connection, authority_digest(successor["certificate"]), NAMES_SHOWN)
    if missing.heard:
        names = ", ".join(missing.names[:5])
        raise Problem(
            "conflict",
            f"{missing.heard} living nodes do not trust {successor['id']} yet ({names}): wait for their heartbeats, or force.",
            {"unconfirmed": missing.heard, "nodes": missing.names},
        )


async def _changed(tx: Tx, action: str, key_id: str, kind: KeyKind, reason: str, forced: bool = False) -> None:
    details: dict[str, object] = {"kind": kind, "forced": True} if forced else {"kind": kind}
    await audit.record(tx, AuditEntry(action, key_id, reason=reason, details=details))
    if kind == TOLD_BY_TASK:
        await allocations.access_changed_everywhere(tx)


async def _show(tx: Tx, key_id: str) -> PlatformKey:
    row = await queries.platform_key_show(tx.connection, tx.now, key_id)
    if row is None:
        raise not_found("platform key", key_id)
    return (await _documents(tx.connection, [row]))[0]


async def _documents(connection: Connection, rows: Sequence[DictRow]) -> list[PlatformKey]:
    """With what protects the private side of each."""
    protected = await private_keys.custody_of(connection, [row["id"] for row in rows])
    found = []
    for row in rows:
        custody = protected.get(row["id"], UNDER_MASTER_KEY if row["sealed"] else DESTROYED)
        found.append(
            PlatformKey(
                **row,
                fingerprint=fingerprint(row["public_key"]),
                custody=custody.backend,
                secret_key_id=custody.secret_key_id,
                unconfirmed=await _unconfirmed(connection, row),
            )
        )
    return found


async def _unconfirmed(connection: Connection, row: DictRow) -> UnconfirmedNodes | None:
    if row["kind"] != "tls_ca" or row["retired_at"] is not None:
        return None
    digest = authority_digest(row["certificate"])
    missing = await nodes.nodes_without_anchor(connection, digest, NAMES_SHOWN)
    return UnconfirmedNodes(heard=missing.heard, total=missing.total, names=missing.names)
