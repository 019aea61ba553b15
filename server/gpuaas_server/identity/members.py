"""Roles of users on the platform, in a tenant, or in a project. A user has one role in each of them.

The last administrator of the platform, or of a tenant, cannot be removed.
"""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.principals import ACCESS_END
from gpuaas_server.identity.queries import bindings as queries
from gpuaas_server.identity.queries import users as user_queries
from gpuaas_server.identity.schemas import Member
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.work import leases

_ADMIN_ROLES = ("platform_admin", "tenant_admin")


@dataclass(frozen=True, slots=True)
class RoleTarget:
    """Names where a role counts: in a project, in a tenant, or (without either) on the platform."""

    tenant_id: str | None = None
    project_id: str | None = None


async def member_list(connection: Connection, target: RoleTarget, page: PageRequest) -> Page[Member]:
    rows = await queries.member_list(connection, target.tenant_id, target.project_id, page)
    return Page[Member].of([Member(**fields_of(row)) for row in rows], page)


async def member_set(
    tx: Tx, action: str, user_id: str, role: str, target: RoleTarget, require_match: RequireMatch
) -> Member:
    """Give the user this role there, instead of the one they had there."""
    await _lock_admins(tx, target)
    user = await user_queries.user_lock(tx.connection, user_id)
    if user is None or (target.tenant_id is not None and user.tenant_id != target.tenant_id):
        raise not_found("user", user_id)
    if target.tenant_id is None and user.tenant_id is not None:
        raise Problem("conflict", "Platform roles are for users of the platform; this one is of a tenant.")
    before = await queries.member_lock(tx.connection, user_id, target.tenant_id, target.project_id)
    if before is not None:
        require_match(before.generation)
        if before.role in _ADMIN_ROLES and role != before.role:
            await refuse_last_admin(tx, user_id, before.role, target.tenant_id)
    row = await queries.member_set(
        tx.connection, new_id("rbd"), user_id, role, target.tenant_id, target.project_id, tx.now
    )
    await _record_change(tx, action, user_id, target, before.role if before else None, role)
    return Member(id=user_id, email=user.email, name=user.name, disabled=user.disabled, **fields_of(row))


async def member_remove(tx: Tx, action: str, user_id: str, target: RoleTarget, require_match: RequireMatch) -> None:
    await _lock_admins(tx, target)
    before = await queries.member_lock(tx.connection, user_id, target.tenant_id, target.project_id)
    if before is None:
        raise not_found("member", user_id)
    require_match(before.generation)
    if before.role in _ADMIN_ROLES:
        await refuse_last_admin(tx, user_id, before.role, target.tenant_id)
    await queries.member_remove(tx.connection, user_id, target.tenant_id, target.project_id)
    await _record_change(tx, action, user_id, target, before.role, None)
    if target.project_id is None:  # a project's own members are locked out of it in access/members.py
        await leases.enqueue(tx, ACCESS_END, [user_id])


async def _lock_admins(tx: Tx, target: RoleTarget) -> None:
    if target.project_id is None:
        await queries.admins_lock(tx.connection, target.tenant_id)


async def refuse_last_admin(tx: Tx, user_id: str, role: str, tenant_id: str | None) -> None:
    """Refuse to take the role from its last holder. Caller must hold the lock on the administrators."""
    if await queries.admins(tx.connection, role, tenant_id) == [user_id]:
        raise Problem("last_admin", f"No other user has the role {role} here.")


async def _record_change(
    tx: Tx, action: str, user_id: str, target: RoleTarget, before: str | None, after: str | None
) -> None:
    details: dict[str, object] = {"before": before, "after": after}
    await record(tx, AuditEntry(action, user_id, target.tenant_id, target.project_id, details=details))
    tx.wakeups.add(TOPIC)
