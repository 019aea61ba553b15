"""Grants: a public key on an allocation until a time. The host learns of them by a task."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.access import credential_queries, queries
from gpuaas_server.access.rows import GrantRow
from gpuaas_server.access.schemas import GRANT_KEYS, SshGrant, SshGrantCreate
from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationAccess, Grant, NewGrants
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.pki.service import SshPublicKey, read_public_key

LONGEST_GRANT = timedelta(days=366)
_TAKES_GRANTS = ("requested", "provisioning", "active")


async def ssh_grant_list(
    connection: Connection, project_id: str, allocation_id: str, page: PageRequest
) -> Page[SshGrant]:
    await require_allocation(connection, project_id, allocation_id)
    rows = await queries.grant_list(connection, project_id, allocation_id, page)
    return Page[SshGrant].of([SshGrant(**fields_of(row)) for row in rows], page)


async def ssh_grant_create(tx: Tx, project_id: str, allocation_id: str, body: SshGrantCreate) -> SshGrant:
    holder, public = await _wanted_key(tx, project_id, body)
    _check_end(body.expires_at, tx.now)
    allocation = await require_allocation(tx.connection, project_id, allocation_id)
    if allocation.state not in _TAKES_GRANTS:
        raise Problem("not_active", f"The allocation is {allocation.state}.")
    grant = GrantRow(
        id=new_id("grt"),
        tenant_id=allocation.tenant_id,
        project_id=project_id,
        allocation_id=allocation_id,
        granted_to=holder,
        public_key=public.line,
        fingerprint=public.fingerprint,
        note=body.note,
        expires_at=body.expires_at,
        created_at=tx.now,
    )
    await queries.grants_insert(tx.connection, [grant])
    await allocations.access_changed(tx, allocation_id)
    until = body.expires_at.isoformat()
    details: dict[str, object] = {"fingerprint": public.fingerprint, "until": until, "on": allocation_id}
    await record_access_audit(tx, allocation, "ssh_grant_create", grant.id, details)
    return SshGrant(**fields_of(grant))


async def ssh_grant_delete(tx: Tx, project_id: str, allocation_id: str, grant_id: str) -> None:
    allocation = await require_allocation(tx.connection, project_id, allocation_id)
    row = await queries.grant_revoke(tx.connection, project_id, allocation_id, grant_id, tx.now)
    if row is None:
        raise not_found("SSH grant", grant_id)
    await allocations.access_changed(tx, allocation_id)
    await record_access_audit(tx, allocation, "ssh_grant_delete", grant_id, {"fingerprint": row.fingerprint})


async def require_allocation(connection: Connection, project_id: str, allocation_id: str) -> AllocationAccess:
    allocation = await allocations.allocation_access(connection, project_id, allocation_id)
    if allocation is None:
        raise not_found("allocation", allocation_id)
    return allocation


async def _wanted_key(tx: Tx, project_id: str, body: SshGrantCreate) -> tuple[str, SshPublicKey]:
    """Return the key, and whose it is: the grant ends with that person or credential."""
    if sum(getattr(body, name) is not None for name in GRANT_KEYS) != 1:
        raise Problem("invalid_request", f"Send one of {', '.join(GRANT_KEYS)}.")
    if body.public_key is not None:
        return tx.actor.id, read_public_key(body.public_key)
    if body.access_credential_id is not None:
        return await _credential_key(tx, project_id, body.access_credential_id)
    found = await queries.ssh_keys_by_id(tx.connection, tx.actor.id, [body.ssh_key_id or ""])
    if not found:
        raise not_found("SSH key", body.ssh_key_id or "")
    return tx.actor.id, read_public_key(found[0].public_key)


async def _credential_key(tx: Tx, project_id: str, credential_id: str) -> tuple[str, SshPublicKey]:
    """Lock the credential: a rotation or revocation at the same moment finds the grant, or we find the new key."""
    row = await credential_queries.credential_lock(tx.connection, project_id, credential_id)
    if row is None:
        raise not_found("access credential", credential_id)
    if row.revoked_at is not None:
        raise Problem("credential_revoked")
    if row.kind != "ssh_key":
        raise Problem("invalid_request", "access_credential_id: this credential has no key, only certificates.")
    return credential_id, read_public_key(row.public_key or "")


def _check_end(expires_at: datetime, now: datetime) -> None:
    if not now < expires_at <= now + LONGEST_GRANT:
        raise Problem("invalid_request", "expires_at: The time must be in the future, and within a year.")


async def record_access_audit(
    tx: Tx,
    allocation: AllocationAccess,
    action: str,
    resource_id: str,
    details: dict[str, object],
    reason: str | None = None,
) -> None:
    entry = AuditEntry(action, resource_id, allocation.tenant_id, allocation.project_id, reason=reason, details=details)
    await audit.record(tx, entry)


async def grants_of(
    connection: Connection, allocation_ids: Sequence[str], now: datetime | None = None
) -> dict[str, list[Grant]]:
    grants: dict[str, list[Grant]] = {}
    for row in await queries.grants_live(connection, allocation_ids, now or utc_now()):
        grants.setdefault(row.allocation_id, []).append(Grant(row.id, row.public_key, row.expires_at))
    return grants


async def grants_create_from_keys(tx: Tx, wanted: NewGrants) -> None:
    """Put stored SSH keys of `granted_to` on new allocations, in the transaction that creates those."""
    if not wanted.ssh_key_ids:
        return
    found = await queries.ssh_keys_by_id(tx.connection, wanted.granted_to, wanted.ssh_key_ids)
    missing = sorted(set(wanted.ssh_key_ids) - {row.id for row in found})
    if missing:
        whose = "You have" if tx.actor.kind == "user" else "Only people store SSH keys; you have"
        raise Problem("not_found", f"{whose} no SSH key {missing[0]}.", {"ssh_key_ids": missing})
    rows = [
        GrantRow(
            id=new_id("grt"),
            tenant_id=wanted.tenant_id,
            project_id=wanted.project_id,
            allocation_id=allocation_id,
            granted_to=wanted.granted_to,
            public_key=key.public_key,
            fingerprint=key.fingerprint,
            note=key.name,
            expires_at=tx.now + LONGEST_GRANT,  # they end with the allocation
            created_at=tx.now,
        )
        for allocation_id in wanted.allocation_ids
        for key in found
    ]
    await queries.grants_insert(tx.connection, rows)
