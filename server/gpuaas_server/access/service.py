"""What other rooms need of access: the grants and revocations that a host must know.

Imports neither allocations nor nodes, so that both may call it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from psycopg.rows import DictRow

from gpuaas_server.access import queries
from gpuaas_server.allocations.hooks import Grant, NewGrants
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id

LONGEST_GRANT = timedelta(days=366)


async def grants_of(
    connection: Connection, allocation_ids: Sequence[str], now: datetime | None = None
) -> dict[str, list[Grant]]:
    grants: dict[str, list[Grant]] = {}
    for row in await queries.grants_live(connection, allocation_ids, now or utc_now()):
        grants.setdefault(row["allocation_id"], []).append(Grant(row["id"], row["public_key"], row["expires_at"]))
    return grants


async def revoked_serials(connection: Connection, allocation_id: str, now: datetime | None = None) -> list[int]:
    return (await revoked_serials_of(connection, [allocation_id], now or utc_now()))[allocation_id]


async def revoked_serials_of(
    connection: Connection, allocation_ids: Sequence[str], now: datetime
) -> dict[str, list[int]]:
    serials: dict[str, list[int]] = {allocation_id: [] for allocation_id in allocation_ids}
    for row in await queries.revoked_serials(connection, allocation_ids, now):
        serials[row["allocation_id"]].append(row["serial"])
    return serials


async def holder_leaves(tx: Tx, project_id: str | None, holder: str) -> list[str]:
    """End every way in that somebody has, to one project or (None) anywhere: certificates, and grants that they made.

    The answer names the allocations whose hosts must be told (allocations.access_changed).
    """
    certificates = await queries.holder_certificates_revoke(tx.connection, project_id, holder, tx.now)
    grants = await queries.holder_grants_revoke(tx.connection, project_id, holder, tx.now)
    reason = "Left the project." if project_id else "May no longer act on the platform."
    entries = [_left(row, "ssh_certificate_revoke", holder, {"serial": row["serial"]}, reason) for row in certificates]
    entries += [_left(row, "ssh_grant_delete", holder, {"grant": row["id"]}, reason) for row in grants]
    if entries:
        await audit.record(tx, *entries)
    return sorted({row["allocation_id"] for row in (*certificates, *grants)})


def _left(row: DictRow, action: str, holder: str, what: dict[str, object], reason: str) -> AuditEntry:
    details = {"holder": holder, **what}
    return AuditEntry(action, row["allocation_id"], row["tenant_id"], row["project_id"], reason=reason, details=details)


async def grants_create_from_keys(tx: Tx, wanted: NewGrants) -> None:
    """Put stored SSH keys of `granted_to` on new allocations, in the transaction that creates those."""
    if not wanted.ssh_key_ids:
        return
    found = await queries.ssh_keys_by_id(tx.connection, wanted.granted_to, wanted.ssh_key_ids)
    missing = sorted(set(wanted.ssh_key_ids) - {row["id"] for row in found})
    if missing:
        whose = "You have" if tx.actor.kind == "user" else "Only people store SSH keys; you have"
        raise Problem("not_found", f"{whose} no SSH key {missing[0]}.", {"ssh_key_ids": missing})
    rows = [
        (
            new_id("grt"),
            wanted.tenant_id,
            wanted.project_id,
            allocation_id,
            wanted.granted_to,
            key["public_key"],
            key["fingerprint"],
            key["name"],
            tx.now + LONGEST_GRANT,  # they end with the allocation
            tx.now,
        )
        for allocation_id in wanted.allocation_ids
        for key in found
    ]
    await queries.grants_insert(tx.connection, rows)


async def certificates_forget(tx: Tx, before: datetime, portion: int) -> int:
    """Remove those that expired before then. An expired certificate opens nothing, revoked or not."""
    return await queries.certificates_delete_before(tx.connection, before, portion)
