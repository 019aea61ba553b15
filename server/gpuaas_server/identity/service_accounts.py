"""Service accounts: programs as principals of one project, with scopes, and keys that overlap in rotation."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity.account_logins import secret_digest
from gpuaas_server.identity.decisions import allowed_actions, grants_needed_on_others, is_permitted
from gpuaas_server.identity.principals import ACCESS_END, CONTROL, CONTROLLER_LEASES_END
from gpuaas_server.identity.queries import service_accounts as queries
from gpuaas_server.identity.rows import NewKeyRow, NewServiceAccountRow, ServiceAccountRow
from gpuaas_server.identity.schemas import (
    NewServiceAccount,
    NewServiceAccountKey,
    ServiceAccount,
    ServiceAccountCreate,
    ServiceAccountKey,
    ServiceAccountKeyCreate,
    ServiceAccountKeyUpdate,
    ServiceAccountUpdate,
)
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.kernel.caller import NOBODY, Caller
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.work import leases

MAX_LIVE_KEYS = 10
_VERBS = (
    "service_account_update",
    "service_account_delete",
    "service_account_key_create",
    "service_account_key_update",
    "service_account_key_delete",
    "service_account_certificate_create",
    "service_account_certificate_delete",
)


async def service_account_create(tx: Tx, body: ServiceAccountCreate, caller: Caller) -> NewServiceAccount:
    """Create an account with its first key. A caller that only provides apps can create nothing but controllers."""
    scopes = sorted(set(body.scopes))
    _require_own(caller, "service_account_create", scopes)
    return await _create(tx, caller.tenant_id, caller.project_id, body, caller)


async def ensure_account(
    tx: Tx, tenant_id: str, project_id: str, body: ServiceAccountCreate
) -> tuple[str, NewServiceAccountKey]:
    """Return the id of the account of this name, created if there is none, and a new key. For the platform's own programs."""
    known = await queries.service_account_by_name(tx.connection, project_id, body.name)
    if known is None:
        made = await _create(tx, tenant_id, project_id, body, NOBODY)
        return made.id, made.key
    key = await _new_key(tx, known, None)
    await _record_change(tx, "service_account_key_create", known, {"key": key.id})
    return known.id, key


async def _create(
    tx: Tx, tenant_id: str, project_id: str, body: ServiceAccountCreate, caller: Caller
) -> NewServiceAccount:
    _require_future(body.expires_at, tx.now)
    scopes, app_slugs = sorted(set(body.scopes)), sorted(set(body.app_slugs))
    _require_apps(scopes, app_slugs)
    new = NewServiceAccountRow(
        id=new_id("sva"),
        tenant_id=tenant_id,
        project_id=project_id,
        name=body.name,
        scopes=[*scopes],
        app_slugs=app_slugs,
        expires_at=body.expires_at,
        created_by=tx.actor.id,
        created_at=tx.now,
    )
    row = await queries.service_account_insert(tx.connection, new)
    if row is None:
        raise Problem("already_exists", "The project has a service account with this name.")
    key = await _new_key(tx, row, None)
    await _record_change(tx, "service_account_create", row, {"scopes": scopes, "app_slugs": app_slugs, "key": key.id})
    return NewServiceAccount(**dict(_account(row, caller)), key=key)


def apps_topic(account_id: str) -> str:
    """Return the topic that is woken when the apps of a service account change."""
    return f"account-apps:{account_id}"


async def change_controlled_apps(tx: Tx, account_id: str, *, add: Sequence[str], remove: Sequence[str]) -> None:
    """Change which apps a controller may work for. For bindings that follow from other ones; the caller records why."""
    await queries.app_slugs_change(tx.connection, account_id, add, remove)
    tx.wakeups |= {TOPIC, apps_topic(account_id)}


async def service_account_list(connection: Connection, page: PageRequest, caller: Caller) -> Page[ServiceAccount]:
    rows = await queries.service_account_list(connection, caller.project_id, page)
    return Page[ServiceAccount].of([_account(row, caller) for row in rows], page)


async def service_account_show(connection: Connection, account_id: str, caller: Caller) -> ServiceAccount:
    row = await queries.service_account_show(connection, caller.project_id, account_id)
    return _account(_present(row, account_id), caller)


async def service_account_update(
    tx: Tx,
    account_id: str,
    body: ServiceAccountUpdate,
    caller: Caller,
    require_match: RequireMatch,
) -> ServiceAccount:
    before = await _lock_account(tx, caller.project_id, account_id)
    require_match(before.generation)
    scopes = before.scopes if body.scopes is None else sorted(set(body.scopes))
    app_slugs = before.app_slugs if body.app_slugs is None else sorted(set(body.app_slugs))
    _require_apps(scopes, app_slugs)
    disabled = before.disabled if body.disabled is None else body.disabled
    required = before.certificate_required if body.certificate_required is None else body.certificate_required
    if disabled:
        await leases.enqueue(tx, ACCESS_END, [account_id])
    if disabled or "apps:control" not in scopes or not set(before.app_slugs) <= set(app_slugs):
        await leases.enqueue(tx, CONTROLLER_LEASES_END, [account_id])
    expires_at = body.expires_at if "expires_at" in body.model_fields_set else before.expires_at
    row = await queries.service_account_update(
        tx.connection, account_id, scopes, app_slugs, disabled, required, expires_at
    )
    if app_slugs != before.app_slugs:
        tx.wakeups.add(apps_topic(account_id))
    changes: dict[str, object] = {
        "before": {
            "scopes": before.scopes,
            "app_slugs": before.app_slugs,
            "disabled": before.disabled,
            "certificate_required": before.certificate_required,
            "expires_at": before.expires_at,
        },
        "after": {
            "scopes": scopes,
            "app_slugs": app_slugs,
            "disabled": disabled,
            "certificate_required": required,
            "expires_at": expires_at,
        },
    }
    await _record_change(tx, "service_account_update", row, changes)
    return _account(row, caller)


async def service_account_key_create(
    tx: Tx, caller: Caller, account_id: str, body: ServiceAccountKeyCreate
) -> NewServiceAccountKey:
    _require_future(body.expires_at, tx.now)
    account = await _lock_account(tx, caller.project_id, account_id)
    _require_own(caller, "service_account_key_create", account.scopes)
    if await queries.key_count(tx.connection, account_id, tx.now) >= MAX_LIVE_KEYS:
        raise Problem("conflict", f"A service account has at most {MAX_LIVE_KEYS} live keys: delete one first.")
    key = await _new_key(tx, account, body.expires_at)
    await _record_change(tx, "service_account_key_create", account, {"key": key.id})
    return key


async def service_account_key_list(
    connection: Connection, project_id: str, account_id: str, page: PageRequest
) -> Page[ServiceAccountKey]:
    _present(await queries.service_account_show(connection, project_id, account_id), account_id)
    rows = await queries.key_list(connection, account_id, page)
    return Page[ServiceAccountKey].of([ServiceAccountKey(**fields_of(row)) for row in rows], page)


async def service_account_delete(tx: Tx, project_id: str, account_id: str, require_match: RequireMatch) -> None:
    """Delete the account: its keys and tokens end now; certificates, grants and the leases of its operations follow."""
    account = await _lock_account(tx, project_id, account_id)
    require_match(account.generation)
    await queries.service_account_delete(tx.connection, account_id)
    await leases.enqueue(tx, ACCESS_END, [account_id])
    await leases.enqueue(tx, CONTROLLER_LEASES_END, [account_id])
    details: dict[str, object] = {"name": account.name, "scopes": account.scopes}
    await _record_change(tx, "service_account_delete", account, details)
    place = (account.tenant_id, account.project_id)
    await emit(tx, NewEvent("service_account.deleted", account_id, *place, {"name": account.name}))


async def service_account_key_update(
    tx: Tx, project_id: str, account_id: str, key_id: str, body: ServiceAccountKeyUpdate
) -> ServiceAccountKey:
    account = await _lock_account(tx, project_id, account_id)
    row = await queries.key_update(tx.connection, account_id, key_id, body.disabled)
    if row is None:
        raise not_found("key", key_id)
    if body.disabled:
        await leases.enqueue(tx, ACCESS_END, [account_id])
    await _record_change(tx, "service_account_key_update", account, {"key": key_id, "disabled": body.disabled})
    return ServiceAccountKey(**fields_of(row))


async def service_account_key_delete(tx: Tx, caller: Caller, account_id: str, key_id: str) -> None:
    """Delete a key. Tokens that were issued for it end too; those of the other keys live on. Which key an SSH certificate was
    issued for is not known, so all of the account's end: a program asks for another.
    """
    account = await _lock_account(tx, caller.project_id, account_id)
    _require_own(caller, "service_account_key_delete", account.scopes)
    if not await queries.key_delete(tx.connection, account_id, key_id):
        raise not_found("key", key_id)
    await leases.enqueue(tx, ACCESS_END, [account_id])
    await _record_change(tx, "service_account_key_delete", account, {"key": key_id})


async def _new_key(tx: Tx, account: ServiceAccountRow, expires_at: datetime | None) -> NewServiceAccountKey:
    secret = f"gsk_{secrets.token_urlsafe(32)}"
    new = NewKeyRow(new_id("key"), account.id, account.tenant_id, secret_digest(secret), expires_at, tx.now)
    row = await queries.key_insert(tx.connection, new)
    return NewServiceAccountKey(**fields_of(row), secret=secret)


async def _lock_account(tx: Tx, project_id: str, account_id: str) -> ServiceAccountRow:
    return _present(await queries.service_account_lock(tx.connection, project_id, account_id), account_id)


def _present(row: ServiceAccountRow | None, account_id: str) -> ServiceAccountRow:
    if row is None:
        raise not_found("service account", account_id)
    return row


def _require_own(caller: Caller, action: str, scopes: Sequence[str]) -> None:
    """Refuse a caller that only provides apps, unless the account is a controller and nothing else."""
    if not is_permitted(caller, action, own=frozenset(scopes) == CONTROL):
        raise Problem(
            "forbidden",
            "With the scope apps:provide you can create and rotate only accounts whose single scope is apps:control.",
            {"needs": grants_needed_on_others(action)},
        )


def _require_future(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise Problem("invalid_request", "expires_at is in the past.")


def _require_apps(scopes: Sequence[str], app_slugs: Sequence[str]) -> None:
    """Refuse a controller without apps: it would wait for work for ever."""
    if "apps:control" in scopes and not app_slugs:
        raise Problem("controller_needs_apps")


async def _record_change(tx: Tx, action: str, account: ServiceAccountRow, details: dict[str, object]) -> None:
    entry = AuditEntry(action, account.id, account.tenant_id, account.project_id, details=details)
    await record(tx, entry)
    tx.wakeups.add(TOPIC)


def _account(row: ServiceAccountRow, caller: Caller) -> ServiceAccount:
    return ServiceAccount(**fields_of(row), allowed_actions=allowed_actions(caller, _VERBS))
