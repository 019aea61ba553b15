"""Users: people with a password, of one tenant or of the platform."""

from psycopg import errors as pg

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import members
from gpuaas_server.identity.callers import read_principal
from gpuaas_server.identity.decisions import allowed_actions
from gpuaas_server.identity.lockouts import username_digest
from gpuaas_server.identity.logins import ProvenPassword
from gpuaas_server.identity.passwords import HashedPassword
from gpuaas_server.identity.principals import ACCESS_END, SERVICE_ACCOUNT, SSH_KEYS_DELETE, USER, Principal
from gpuaas_server.identity.queries import bindings as binding_queries
from gpuaas_server.identity.queries import logins as login_queries
from gpuaas_server.identity.queries import users as queries
from gpuaas_server.identity.rows import UserBinding, UserRow
from gpuaas_server.identity.schemas import (
    Me,
    RoleBinding,
    TenantUserCreate,
    User,
    UserUpdate,
    UserWithPassword,
)
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform, RequireMatch, Tx
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.work import leases

_TENANT_VERBS = ("tenant_user_update", "tenant_user_unlock", "tenant_user_delete", "tenant_member_set")
_PLATFORM_VERBS = ("user_update", "user_unlock", "user_delete", "platform_role_set")


async def user_create(
    tx: Tx, action: str, tenant_id: str | None, body: TenantUserCreate, password: HashedPassword, caller: Caller
) -> UserWithPassword:
    email = body.email.lower()
    row = await _insert(tx, tenant_id, email, body.name, password.hash)
    await record(tx, AuditEntry(action, row.id, tenant_id, details={"email": email}))
    return _with_password(_user(row, [], caller), password.text)


async def _insert(tx: Tx, tenant_id: str | None, email: str, name: str, password_hash: str) -> UserRow:
    try:
        row = await queries.user_insert(tx.connection, new_id("usr"), tenant_id, email, name, password_hash, tx.now)
    except pg.ForeignKeyViolation as error:
        raise not_found("tenant", tenant_id or "") from error
    if row is None:
        raise Problem("already_exists", "There is a user with this e-mail address.")
    return row


async def user_list(connection: Connection, tenant_id: str | None, page: PageRequest, caller: Caller) -> Page[User]:
    rows = await queries.user_list(connection, tenant_id, page)
    bindings = await binding_queries.user_bindings(connection, [row.id for row in rows])
    return Page[User].of([_user(row, bindings, caller) for row in rows], page)


async def user_show(connection: Connection, tenant_id: str | None, user_id: str, caller: Caller) -> User:
    """Return a user of the tenant; without one, any user."""
    row = _of_tenant(await queries.user_show(connection, user_id), tenant_id, user_id)
    return _user(row, await binding_queries.user_bindings(connection, [user_id]), caller)


async def user_update(
    tx: Tx,
    action: str,
    tenant_id: str | None,
    user_id: str,
    body: UserUpdate,
    password: HashedPassword | None,
    caller: Caller,
    require_match: RequireMatch,
) -> UserWithPassword:
    """Change a user. `password` is the new one, if the body asks for one."""
    shown = _of_tenant(await queries.user_show(tx.connection, user_id), tenant_id, user_id)
    await binding_queries.admins_lock(tx.connection, shown.tenant_id)
    before = await queries.user_lock(tx.connection, user_id) or shown
    require_match(before.generation)
    bindings = await binding_queries.user_bindings(tx.connection, [user_id])
    if body.disabled and not before.disabled:
        for binding in bindings:
            if binding.role in ("platform_admin", "tenant_admin"):
                await members.refuse_last_admin(tx, user_id, binding.role, binding.tenant_id)
    if password is not None:
        await queries.password_set(tx.connection, user_id, password.hash, None)
    if body.unlock or password is not None:
        await login_queries.failures_clear(tx.connection, username_digest(before.email))
    disabled = before.disabled if body.disabled is None else body.disabled
    if disabled:
        await leases.enqueue(tx, ACCESS_END, [user_id])
    row = await queries.user_update(tx.connection, user_id, body.name or before.name, disabled)
    details: dict[str, object] = {"changed": sorted(body.model_fields_set), "disabled": disabled}
    await record(tx, AuditEntry(action, user_id, before.tenant_id, details=details))
    tx.wakeups.add(TOPIC)
    return _with_password(_user(row, bindings, caller), password.text if password else None)


async def user_delete(tx: Tx, action: str, tenant_id: str | None, user_id: str, require_match: RequireMatch) -> None:
    """Delete a user: all access ends now. The id stays, since audit rows name it; nothing else of the person does."""
    shown = _of_tenant(await queries.user_show(tx.connection, user_id), tenant_id, user_id)
    if user_id == tx.actor.id:
        raise Problem("conflict", "You cannot delete yourself: ask another administrator.")
    await binding_queries.admins_lock(tx.connection, shown.tenant_id)
    before = _of_tenant(await queries.user_lock(tx.connection, user_id), tenant_id, user_id)
    require_match(before.generation)
    for binding in await binding_queries.user_bindings(tx.connection, [user_id]):
        if binding.role in ("platform_admin", "tenant_admin"):
            await members.refuse_last_admin(tx, user_id, binding.role, binding.tenant_id)
    digest = username_digest(before.email)
    await login_queries.failures_clear(tx.connection, digest)
    await login_queries.networks_clear(tx.connection, digest)
    await queries.user_delete(tx.connection, user_id, tx.now)
    await leases.enqueue(tx, ACCESS_END, [user_id])
    await leases.enqueue(tx, SSH_KEYS_DELETE, [user_id])
    await record(tx, AuditEntry(action, user_id, before.tenant_id))
    await emit(tx, NewEvent("user.deleted", user_id, before.tenant_id))
    tx.wakeups.add(TOPIC)


async def forget_sign_ins(tx: Tx, user_ids: list[str]) -> None:
    """Delete what sign-ins left of purged users: failures and networks, kept under a digest of the address."""
    for email in await queries.user_emails(tx.connection, user_ids):
        digest = username_digest(email)
        await login_queries.failures_clear(tx.connection, digest)
        await login_queries.networks_clear(tx.connection, digest)


async def user_unlock(tx: Tx, action: str, tenant_id: str | None, user_id: str, caller: Caller) -> User:
    """End every lockout of the account, in all networks. The answer does not say whether there was one."""
    row = _of_tenant(await queries.user_show(tx.connection, user_id), tenant_id, user_id)
    await login_queries.failures_clear(tx.connection, username_digest(row.email))
    await record(tx, AuditEntry(action, user_id, row.tenant_id))
    return _user(row, await binding_queries.user_bindings(tx.connection, [user_id]), caller)


async def me_password_change(tx: Tx, proven: ProvenPassword, password: HashedPassword) -> None:
    """Change the password. It ends every token of the user, this one too, so also a stolen one."""
    if not await queries.password_set(tx.connection, tx.actor.id, password.hash, proven.auth_epoch):
        raise Problem("conflict", "The password was changed by another request.")
    await record(tx, AuditEntry("me_password_change", tx.actor.id, tx.actor.tenant_id or None))
    tx.wakeups.add(TOPIC)


def _of_tenant(row: UserRow | None, tenant_id: str | None, user_id: str) -> UserRow:
    if row is None or (tenant_id is not None and row.tenant_id != tenant_id):
        raise not_found("user", user_id)
    return row


def _user(row: UserRow, bindings: list[UserBinding], caller: Caller) -> User:
    roles = [
        RoleBinding(role=binding.role, tenant_id=binding.tenant_id, project_id=binding.project_id)
        for binding in bindings
        if binding.user_id == row.id
    ]
    verbs = _TENANT_VERBS if row.tenant_id else _PLATFORM_VERBS
    return User(**fields_of(row), roles=roles, allowed_actions=allowed_actions(caller, verbs))


def _with_password(user: User, password: str | None) -> UserWithPassword:
    return UserWithPassword(**dict(user), initial_password=password)


async def me_show(platform: Platform, actor: Actor) -> Me:
    """Return the caller, read in the platform's scope: a user of the platform has no tenant whose rows they could see."""
    async with platform.database.connection(PLATFORM) as connection:
        return describe_principal(await read_principal(connection, actor.id))


def describe_principal(principal: Principal | None) -> Me:
    """Return the principal as `GET /me` tells it; None is somebody who was deleted since they were let in."""
    if principal is None:
        raise Problem("token_invalid")
    return Me(
        id=principal.id,
        kind="user" if principal.kind == USER else "service_account",
        name=principal.name,
        email=principal.email,
        tenant_id=principal.tenant_id or None,
        roles=[RoleBinding(role=b.role, tenant_id=b.tenant_id, project_id=b.project_id) for b in principal.bindings],
        scopes=sorted(principal.scopes) if principal.kind == SERVICE_ACCOUNT else None,
        app_slugs=sorted(principal.apps) if principal.kind == SERVICE_ACCOUNT else None,
    )
