"""The platform's own keys as administrators see them: listed, rotated, retired. The keys themselves are in `pki`."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.access.schemas import PlatformKey, PlatformKeyRetire, PlatformKeyRotate, UnconfirmedNodes
from gpuaas_server.allocations import service as allocations
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.nodes import service as nodes
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import KeyKind, KeyRecord, NewKey, PublishedKey, authority_digest, fingerprint
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import DESTROYED, UNDER_MASTER_KEY

NAMES_SHOWN = 20
TOLD_BY_TASK: KeyKind = "ssh_user_ca"  # the others are learnt from heartbeats, or asked for when needed


async def platform_key_list(connection: Connection, now: datetime, page: PageRequest) -> Page[PlatformKey]:
    found = await pki.key_list(connection, now, page)
    return Page[PlatformKey].of(await _documents(connection, found), page)


async def platform_key_rotate(tx: Tx, new: NewKey, body: PlatformKeyRotate) -> PlatformKey:
    made = await pki.key_rotate(tx, new)
    await _changed(tx, "platform_key_rotate", made.kid, body.kind, body.reason)
    return await _show(tx, made.kid)


async def platform_key_retire(tx: Tx, key_id: str, body: PlatformKeyRetire) -> PlatformKey:
    """Retire the key, but only when another one signs: nobody must be left without a key that hosts and agents trust."""
    await pki.keys_lock(tx)
    key = await _show(tx, key_id)
    if key.retired_at is not None:
        raise Problem("conflict", "The key is retired already.")
    newer = await pki.newer_keys(tx.connection, key.kind, key_id)
    if not any(one.signs_from <= tx.now for one in newer):
        when = f"it does from {newer[0].signs_from.isoformat()}" if newer else "rotate first"
        raise Problem("conflict", f"No newer {key.kind} key signs yet: {when}.")
    if key.kind == "tls_ca" and not body.force:
        await _refuse_unconfirmed(tx, next(one for one in reversed(newer) if one.signs_from <= tx.now))
    if key.kind == "client_ca":
        await _end_client_certificates(tx, key_id, body.force)
    await pki.key_retire(tx, key_id)
    await _changed(tx, "platform_key_retire", key_id, key.kind, body.reason, body.force)
    return await _show(tx, key_id)


async def _refuse_unconfirmed(tx: Tx, successor: PublishedKey) -> None:
    """Refuse while agents do not trust the CA that signs now: they would be cut off. Lost nodes do not count."""
    missing = await nodes.nodes_without_anchor(
        tx.connection, authority_digest(successor.certificate or ""), NAMES_SHOWN
    )
    if missing.alive:
        names = ", ".join(missing.names[:5])
        raise Problem(
            "conflict",
            f"{missing.alive} living nodes do not trust {successor.kid} yet ({names}): wait for their heartbeats, or force.",
            {"unconfirmed": missing.alive, "nodes": missing.names},
        )


async def _end_client_certificates(tx: Tx, key_id: str, force: bool) -> None:
    """End the certificates that the CA signed. Refuse while any is in use, unless somebody forces it."""
    used = await identity.certificates_of_authority(tx.connection, key_id, tx.now)
    if used and not force:
        detail = f"{used} client certificates of this CA are in use: replace them, wait for their end, or force."
        raise Problem("conflict", detail, {"certificates": used})
    await identity.certificates_end(tx, key_id)


async def _changed(tx: Tx, action: str, key_id: str, kind: KeyKind, reason: str, forced: bool = False) -> None:
    details: dict[str, object] = {"kind": kind, "forced": True} if forced else {"kind": kind}
    await audit.record(tx, AuditEntry(action, key_id, reason=reason, details=details))
    if kind == TOLD_BY_TASK:
        await allocations.access_changed_everywhere(tx)


async def _show(tx: Tx, key_id: str) -> PlatformKey:
    found = await pki.key_show(tx.connection, tx.now, key_id)
    if found is None:
        raise not_found("platform key", key_id)
    return (await _documents(tx.connection, [found]))[0]


async def _documents(connection: Connection, records: Sequence[KeyRecord]) -> list[PlatformKey]:
    """Build the answers, with what protects the private side of each key."""
    protected = await secrets.custody_of(connection, [record.id for record in records])
    found = []
    for record in records:
        custody = protected.get(record.id, UNDER_MASTER_KEY if record.sealed else DESTROYED)
        found.append(
            PlatformKey(
                id=record.id,
                kind=record.kind,
                state=record.state,
                public_key=record.public_key,
                fingerprint=fingerprint(record.public_key),
                certificate=record.certificate,
                custody=custody.backend,
                secret_key_id=custody.secret_key_id,
                signs_from=record.signs_from,
                created_at=record.created_at,
                retired_at=record.retired_at,
                unconfirmed=await _unconfirmed(connection, record),
            )
        )
    return found


async def _unconfirmed(connection: Connection, record: KeyRecord) -> UnconfirmedNodes | None:
    if record.kind != "tls_ca" or record.retired_at is not None:
        return None
    digest = authority_digest(record.certificate or "")
    missing = await nodes.nodes_without_anchor(connection, digest, NAMES_SHOWN)
    return UnconfirmedNodes(alive=missing.alive, total=missing.total, names=missing.names)
