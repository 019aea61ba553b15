"""The door of this room for other rooms: members, what a caller may do, the first administrator."""

from dataclasses import dataclass

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.browser_sessions import browser_sessions_forget
from gpuaas_server.identity.members import Place, member_list, member_remove, member_set
from gpuaas_server.identity.passwords import hash_password, random_password
from gpuaas_server.identity.policy import (
    PLATFORM_ROLES,
    allowed_actions,
    needs,
    needs_on_others,
    reaches,
    sees_every_app,
)
from gpuaas_server.identity.principals import ACCESS_END, APP_ROLE, SERVICE_ACCOUNT, SSH_KEYS_DELETE
from gpuaas_server.identity.queries import bindings as binding_queries
from gpuaas_server.identity.queries import service_accounts as account_queries
from gpuaas_server.identity.queries import users as user_queries
from gpuaas_server.identity.schemas import Member, ProjectMemberSet, TenantMemberSet
from gpuaas_server.identity.sessions import sessions_forget
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.kernel.context import Actor, Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.ids import new_id

__all__ = [
    "ACCESS_END",
    "PLATFORM_ROLES",
    "SSH_KEYS_DELETE",
    "TOPIC",
    "FirstAdmin",
    "Member",
    "Place",
    "ProjectMemberSet",
    "TenantMemberSet",
    "allowed_actions",
    "apps_in_sight",
    "bound_apps",
    "browser_sessions_forget",
    "ensure_first_admin",
    "member_list",
    "member_remove",
    "member_set",
    "needs",
    "needs_on_others",
    "reaches",
    "sessions_forget",
    "visible_projects",
]

FIRST_ADMIN_EMAIL = "admin@gpuaas.local"


@dataclass(frozen=True, slots=True)
class FirstAdmin:
    """Shown once on the terminal of whoever starts the platform for the first time."""

    email: str
    password: str


async def ensure_first_admin(platform: Platform) -> FirstAdmin | None:
    """When nobody is in charge, make somebody. The lock lets one of several starting replicas do it."""
    password = random_password()
    password_hash = await hash_password(password)
    async with platform.transaction(PLATFORM, system_actor("identity/start")) as tx:
        await binding_queries.first_admin_lock(tx.connection)
        if await binding_queries.platform_admin_exists(tx.connection):
            return None
        user = await user_queries.user_insert(
            tx.connection, new_id("usr"), None, FIRST_ADMIN_EMAIL, "Administrator", password_hash, tx.now
        )
        if user is None:
            raise RuntimeError(f"{FIRST_ADMIN_EMAIL} exists but nobody holds platform_admin")
        await binding_queries.member_set(tx.connection, new_id("rbd"), user["id"], "platform_admin", None, None, tx.now)
        await record(tx, AuditEntry("user_create", user["id"], details={"first_admin": True}))
    return FirstAdmin(FIRST_ADMIN_EMAIL, password)


def bound_apps(roles: frozenset[str]) -> list[str]:
    """The slugs of the apps that the caller, a service account, is the controller of: from `Admission.roles`."""
    return sorted(role.removeprefix(APP_ROLE) for role in roles if role.startswith(APP_ROLE))


def apps_in_sight(roles: frozenset[str]) -> list[str] | None:
    """The slugs of the apps whose instances the caller may read; None for all of the project."""
    return None if sees_every_app(roles) else bound_apps(roles)


async def visible_projects(connection: Connection, actor: Actor) -> list[str] | None:
    """The projects that the caller has a role in; None for all of their tenant (or of the platform)."""
    if actor.kind == SERVICE_ACCOUNT:
        return await account_queries.project_of(connection, actor.id)
    rows = await binding_queries.user_bindings(connection, [actor.id])
    if any(row["project_id"] is None for row in rows):
        return None
    return [row["project_id"] for row in rows]
