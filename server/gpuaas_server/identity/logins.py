"""Signing in. Attempts are limited per address, failures lock the name, and both hold across replicas.

A lock is looked at again after the password was checked: guesses sent at once get no further than in turn.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import TypeVar

from psycopg.rows import DictRow

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import rates, sessions, signing_keys, tokens
from gpuaas_server.identity.passwords import password_matches
from gpuaas_server.identity.principals import SERVICE_ACCOUNT, USER
from gpuaas_server.identity.queries import logins as queries
from gpuaas_server.identity.queries import service_accounts as account_queries
from gpuaas_server.identity.queries import users as user_queries
from gpuaas_server.identity.rates import Door
from gpuaas_server.identity.schemas import AccessToken, ClientCredentialsGrant, PasswordGrant, RefreshGrant
from gpuaas_server.identity.sessions import RefreshToken
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem

ACTION = "auth_token"
_NO_DIGEST = bytes(32)
Begun = TypeVar("Begun")


@dataclass(frozen=True, slots=True)
class ProvenPerson:
    """Whoever knew the password just now: the actor, the tenant (None: of the platform), and the epoch it holds in."""

    actor: Actor
    tenant_id: str | None
    auth_epoch: int


def username_digest(email: str) -> bytes:
    return hashlib.sha256(email.encode()).digest()


def secret_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


async def auth_token(
    platform: Platform, caller: Actor, grant: PasswordGrant | RefreshGrant | ClientCredentialsGrant
) -> AccessToken:
    if isinstance(grant, PasswordGrant):
        return await password_sign_in(platform, caller, grant, ACTION, lambda tx, who: _begin(platform, tx, who))
    # Guessing 256 bits is hopeless; only failures count, so controllers behind one address do not starve.
    await rates.refuse_over(platform, _door(platform), caller.address)
    if isinstance(grant, RefreshGrant):
        return await _session_sign_in(platform, caller, RefreshToken.read(grant.refresh_token))
    return await _account_sign_in(platform, caller, grant)


def _door(platform: Platform) -> Door:
    return Door("sign-in", platform.settings.login_rate_per_minute)


async def password_sign_in(
    platform: Platform,
    caller: Actor,
    grant: PasswordGrant,
    action: str,
    begin: Callable[[Tx, ProvenPerson], Awaitable[Begun]],
) -> Begun:
    """Every door for people is this one: what `begin` starts for them is what differs."""
    await rates.count_and_refuse_over(platform, _door(platform), caller.address)
    email = grant.username.lower()
    digest = username_digest(email)
    async with platform.database.connection(PLATFORM) as connection:
        found = await queries.login_account(connection, email, digest)
    _refuse_locked(found["locked_until"], platform.clock())
    matches = await password_matches(found["password_hash"], grant.password)
    known = _acting(caller, found, USER) if found["id"] is not None else caller
    if not matches:
        raise await _count_failure(platform, known, digest, action)
    async with platform.transaction(PLATFORM, known) as tx:
        _refuse_locked(await queries.lock_read(tx.connection, digest), tx.now)
        if not found["disabled"]:
            await queries.failure_clear(tx.connection, digest)
            await user_queries.signed_in(tx.connection, known.id, tx.now)
            return await begin(tx, ProvenPerson(known, found["tenant_id"], found["auth_epoch"]))
    raise await _refuse(platform, known, "account_disabled", action)


async def _begin(platform: Platform, tx: Tx, person: ProvenPerson) -> AccessToken:
    actor, epoch, hours = person.actor, person.auth_epoch, platform.settings.session_hours
    session = await sessions.session_start(tx, actor.id, person.tenant_id, epoch, hours)
    await record(tx, AuditEntry(ACTION, actor.id, person.tenant_id, details={"session": session.id}))
    issued = await _issue(platform, tx, tokens.Claims(actor.id, USER, actor.tenant_id, epoch, 0.0), None)
    return _with_session(issued, session)


async def _session_sign_in(platform: Platform, caller: Actor, presented: RefreshToken) -> AccessToken:
    """An unknown token counts like a wrong secret; what the session's holder did wrong is in the trail."""
    user = await sessions.session_holder(platform, presented)
    if user is None:
        await rates.count_attempt(platform, _door(platform), caller.address)
        raise await _refuse(platform, caller, "session_ended")
    known = _acting(caller, user, USER)
    async with platform.transaction(PLATFORM, known) as tx:
        session = await sessions.session_renew(tx, presented)
        if session is not None:
            claims = tokens.Claims(known.id, USER, known.tenant_id, session.auth_epoch, 0.0)
            return _with_session(await _issue(platform, tx, claims, None), session)
    metrics.auth_refusals.labels("session_ended").inc()
    raise Problem("session_ended")


def _with_session(issued: AccessToken, session: sessions.LiveSession) -> AccessToken:
    more = {"refresh_token": session.token.text, "session_expires_at": session.expires_at}
    return issued.model_copy(update=more)


@dataclass(frozen=True, slots=True)
class ProvenPassword:
    """That the caller knew the password, and in which epoch: a change is refused when another came first."""

    email: str
    auth_epoch: int


async def prove_password(platform: Platform, actor: Actor, password: str) -> ProvenPassword:
    """For a caller with a token who must show that they are the person too. Failures count as there."""
    async with platform.database.connection(PLATFORM) as connection:
        found = await user_queries.password_read(connection, actor.id)
        if found is None:
            raise Problem("token_invalid")
        digest = username_digest(found["email"])
        locked_until = await queries.lock_read(connection, digest)
    _refuse_locked(locked_until, platform.clock())
    if not await password_matches(found["password_hash"], password):
        raise await _count_failure(platform, actor, digest, ACTION)
    return ProvenPassword(found["email"], found["auth_epoch"])


def _refuse_locked(until: datetime | None, now: datetime) -> None:
    if until is not None and until > now:
        metrics.auth_refusals.labels("account_locked").inc()
        seconds = ceil((until - now).total_seconds())
        raise Problem("account_locked", headers={"Retry-After": str(seconds)})


async def _count_failure(platform: Platform, known: Actor, digest: bytes, action: str) -> Problem:
    settings = platform.settings
    metrics.auth_refusals.labels("bad_credentials").inc()
    async with platform.transaction(PLATFORM, known) as tx:
        lockout = timedelta(seconds=settings.lockout_seconds)
        state = await queries.failure_add(tx.connection, digest, tx.now, settings.login_attempts, lockout)
        locked = state["locked_until"] is not None
        await record(tx, _denied(known, action, {"why": "bad_credentials", "locked": locked}))
        await queries.failure_forget(tx.connection, tx.now - max(lockout, timedelta(days=1)))
    return Problem("bad_credentials")


@dataclass(frozen=True, slots=True)
class _Key:
    """The key that a client secret turned out to be."""

    row: DictRow

    def expired(self, now: datetime) -> bool:
        expires_at: datetime | None = self.row["expires_at"]
        return expires_at is not None and expires_at <= now


async def _account_sign_in(platform: Platform, caller: Actor, grant: ClientCredentialsGrant) -> AccessToken:
    now = platform.clock()
    async with platform.database.connection(PLATFORM) as connection:
        rows = await account_queries.sign_in_keys(connection, grant.client_id, now)
    key = _matching_key(rows, secret_digest(grant.client_secret))
    if key is None:
        await rates.count_attempt(platform, _door(platform), caller.address)
        raise await _refuse(platform, caller, "bad_credentials")
    known = _acting(caller, {**key.row, "id": grant.client_id}, SERVICE_ACCOUNT)
    if key.row["disabled"] or key.expired(now):
        raise await _refuse(platform, known, "account_disabled")
    async with platform.transaction(PLATFORM, known) as tx:
        await account_queries.key_used(tx.connection, key.row["key_id"], tx.now)
        entry = AuditEntry(ACTION, known.id, known.tenant_id, key.row["project_id"], details={"key": key.row["key_id"]})
        await record(tx, entry)
        claims = tokens.Claims(known.id, SERVICE_ACCOUNT, known.tenant_id, 0, 0.0, key.row["key_id"])
        return await _issue(platform, tx, claims, " ".join(sorted(key.row["scopes"])))


def _matching_key(rows: list[DictRow], digest: bytes) -> _Key | None:
    """Every key is compared, whichever matches, and one is compared when there is none."""
    found = None
    for row in rows or [{"digest": _NO_DIGEST}]:
        if hmac.compare_digest(bytes(row["digest"]), digest) and "key_id" in row:
            found = _Key(row)
    return found


async def _issue(platform: Platform, tx: Tx, claims: tokens.Claims, scope: str | None) -> AccessToken:
    seconds = platform.settings.token_minutes * 60
    key_id, key = await signing_keys.signing_key(platform, tx.connection)
    claims = replace(claims, expires=tx.now.timestamp() + seconds)
    return AccessToken(access_token=tokens.sign(key_id, key, claims, tx.now), expires_in=seconds, scope=scope)


async def _refuse(platform: Platform, known: Actor, code: str, action: str = ACTION) -> Problem:
    metrics.auth_refusals.labels(code).inc()
    async with platform.transaction(PLATFORM, known) as tx:
        await record(tx, _denied(known, action, {"why": code}))
    return Problem(code)


def _denied(known: Actor, action: str, details: dict[str, object]) -> AuditEntry:
    resource = known.id if known.kind in (USER, SERVICE_ACCOUNT) else None
    return AuditEntry(action, resource, known.tenant_id or None, outcome="denied", details=details)


def _acting(caller: Actor, row: DictRow, kind: str) -> Actor:
    return replace(caller, id=row["id"], kind=kind, name=row["name"], tenant_id=row["tenant_id"] or "")
