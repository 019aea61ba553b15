"""Offers other nouns what they use of identity: members, what a caller may do, the first administrator."""

from gpuaas_server.identity.administrators import Administrator, ensure_first_admin, reset_admin
from gpuaas_server.identity.browser_sessions import browser_sessions_forget, session_read, session_slide
from gpuaas_server.identity.callers import read_principal
from gpuaas_server.identity.certificates import (
    NewCertificate,
    certificate_delete,
    certificate_list,
    certificate_register,
    certificates_end,
    certificates_of_authority,
)
from gpuaas_server.identity.consent_permissions import DESCRIPTIONS, PERMISSION_OF_ACTION, PERMISSIONS, PermissionName
from gpuaas_server.identity.cookies import COOKIE, CookieSecret, refuse_forged
from gpuaas_server.identity.decisions import (
    allowed_actions,
    decide,
    grants_needed,
    grants_needed_on_others,
    is_permitted,
    sees_every_app,
)
from gpuaas_server.identity.logins import account_token
from gpuaas_server.identity.members import RoleTarget, member_list, member_remove, member_set
from gpuaas_server.identity.policy import RULES
from gpuaas_server.identity.principals import (
    ACCESS_END,
    CONTROL,
    CONTROLLER_LEASES_END,
    SERVICE_ACCOUNT,
    SSH_KEYS_DELETE,
    Principal,
)
from gpuaas_server.identity.queries import bindings as binding_queries
from gpuaas_server.identity.queries import service_accounts as account_queries
from gpuaas_server.identity.rates import RateLimit, count_attempt, refuse_over
from gpuaas_server.identity.rows import BrowserSessionRow, ServiceAccountRow
from gpuaas_server.identity.rules import PLATFORM_ROLES, Level, Rule, Verdict
from gpuaas_server.identity.schemas import Member, ProjectMemberSet, TenantMemberSet
from gpuaas_server.identity.service_accounts import apps_topic, change_controlled_apps, ensure_account
from gpuaas_server.identity.sessions import sessions_forget
from gpuaas_server.identity.signing_keys import TOPIC, ensure_signing_key, verifying_keys
from gpuaas_server.identity.tokens import Claims, token_key_id, verify_token
from gpuaas_server.identity.users import forget_sign_ins
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor
from gpuaas_server.kernel.database import Connection

__all__ = [
    "ACCESS_END",
    "CONTROL",
    "CONTROLLER_LEASES_END",
    "COOKIE",
    "DESCRIPTIONS",
    "PERMISSIONS",
    "PERMISSION_OF_ACTION",
    "PLATFORM_ROLES",
    "RULES",
    "SSH_KEYS_DELETE",
    "TOPIC",
    "Administrator",
    "BrowserSessionRow",
    "Claims",
    "CookieSecret",
    "Level",
    "Member",
    "NewCertificate",
    "PermissionName",
    "Principal",
    "ProjectMemberSet",
    "RateLimit",
    "RoleTarget",
    "Rule",
    "TenantMemberSet",
    "Verdict",
    "account_token",
    "allowed_actions",
    "apps_controlled",
    "apps_topic",
    "bound_apps",
    "browser_sessions_forget",
    "certificate_delete",
    "certificate_list",
    "certificate_register",
    "certificates_end",
    "certificates_of_authority",
    "change_controlled_apps",
    "count_attempt",
    "decide",
    "ensure_account",
    "ensure_first_admin",
    "ensure_signing_key",
    "forget_sign_ins",
    "grants_needed",
    "grants_needed_on_others",
    "is_permitted",
    "member_list",
    "member_remove",
    "member_set",
    "read_principal",
    "refuse_forged",
    "refuse_over",
    "reset_admin",
    "service_account_of",
    "session_read",
    "session_slide",
    "sessions_forget",
    "token_key_id",
    "verify_token",
    "verifying_keys",
    "visible_apps",
    "visible_projects",
]


def bound_apps(caller: Caller) -> list[str]:
    """Return the slugs of the apps that the caller, a service account, is the controller of."""
    return sorted(caller.apps)


async def service_account_of(connection: Connection, project_id: str, account_id: str) -> ServiceAccountRow | None:
    """Return the account, if it is one of the project."""
    return await account_queries.service_account_show(connection, project_id, account_id)


async def apps_controlled(connection: Connection, account_id: str) -> list[str]:
    """Return the slugs of the apps that a service account may work for now; none if it was deleted or disabled."""
    return await account_queries.apps_controlled(connection, account_id)


def visible_apps(caller: Caller) -> list[str] | None:
    """Return the slugs of the apps whose instances the caller may read; None for all of the project."""
    return None if sees_every_app(caller) else bound_apps(caller)


async def visible_projects(connection: Connection, actor: Actor) -> list[str] | None:
    """Return the projects that the caller has a role in; None for all of their tenant (or of the platform)."""
    if actor.kind == SERVICE_ACCOUNT:
        return await account_queries.project_of(connection, actor.id)
    rows = await binding_queries.user_bindings(connection, [actor.id])
    projects = [row.project_id for row in rows]
    return None if None in projects else [project_id for project_id in projects if project_id is not None]
