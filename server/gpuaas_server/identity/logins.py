"""Sign-in by password, and by refresh token. Its limits are in lockouts.py and rates.py.

Locks are checked again after the password: parallel guesses get no further than guesses one after the other.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import account_logins, lockouts, rates, sessions, tokens
from gpuaas_server.identity.networks import rate_source
from gpuaas_server.identity.passwords import password_matches
from gpuaas_server.identity.principals import USER
from gpuaas_server.identity.queries import users as user_queries
from gpuaas_server.identity.rates import RateLimit
from gpuaas_server.identity.schemas import AccessToken, ClientCredentialsGrant, PasswordGrant, RefreshGrant
from gpuaas_server.identity.sessions import RefreshToken
from gpuaas_server.identity.sign_in import ACTION, issue_token, refuse, signed_in_actor
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.client_certificates import ShownCertificate

Begun = TypeVar("Begun")


@dataclass(frozen=True, slots=True)
class ProvenPerson:
    """The user who has just proven the password, with their tenant (None: of the platform) and epoch."""

    actor: Actor
    tenant_id: str | None
    auth_epoch: int


async def auth_token(
    platform: Platform,
    caller: Actor,
    grant: PasswordGrant | RefreshGrant | ClientCredentialsGrant,
    shown: ShownCertificate,
) -> AccessToken:
    if isinstance(grant, PasswordGrant):
        return await password_sign_in(platform, caller, grant, ACTION, lambda tx, who: _begin(platform, tx, who))
    if isinstance(grant, RefreshGrant):
        return await _session_sign_in(platform, caller, RefreshToken.read(grant.refresh_token))
    return await account_logins.account_sign_in(platform, caller, grant, shown)


async def password_sign_in(
    platform: Platform,
    caller: Actor,
    grant: PasswordGrant,
    action: str,
    begin: Callable[[Tx, ProvenPerson], Awaitable[Begun]],
) -> Begun:
    """Sign a person in by password. Every way in for people comes through here; `begin` starts what they signed in for."""
    attempt = await lockouts.read_attempt(platform, grant.username, caller.address)
    await lockouts.count_and_refuse(platform, attempt)
    user = attempt.account.user
    matches = await password_matches(user.password_hash if user else None, grant.password, trusted=attempt.known)
    known = signed_in_actor(caller, user, USER) if user is not None else caller
    if user is None or not matches:
        raise await lockouts.count_failure(platform, known, attempt, action)
    async with platform.transaction(PLATFORM, known) as tx:
        await lockouts.refuse_locked(tx, attempt)
        if not user.disabled and not user.deleting:
            await lockouts.note_success(platform, tx, attempt)
            await user_queries.signed_in(tx.connection, known.id, tx.now)
            return await begin(tx, ProvenPerson(known, user.tenant_id, user.auth_epoch))
    raise await refuse(platform, known, "account_disabled" if user.disabled else "deletion_scheduled", action)


async def _begin(platform: Platform, tx: Tx, person: ProvenPerson) -> AccessToken:
    actor, epoch, hours = person.actor, person.auth_epoch, platform.settings.session_hours
    session = await sessions.session_start(tx, actor.id, person.tenant_id, epoch, hours)
    await record(tx, AuditEntry(ACTION, actor.id, person.tenant_id, details={"session": session.id}))
    issued = await issue_token(platform, tx, tokens.Claims(actor.id, USER, actor.tenant_id, epoch, 0.0), None)
    return _with_session(issued, session)


async def _session_sign_in(platform: Platform, caller: Actor, presented: RefreshToken) -> AccessToken:
    """Sign in by refresh token. Each session has a rate of its own; unknown tokens count against the address, and slow nobody
    who has a known one.
    """
    per_minute = platform.settings.refresh_rate_per_minute
    user = await sessions.session_user(platform, presented)
    if user is None:
        source = rate_source(caller.address, platform.settings)
        await rates.count_and_refuse_over(platform, RateLimit("refresh-unknown", per_minute), source)
        raise await refuse(platform, caller, "session_ended")
    await rates.count_and_refuse_over(platform, RateLimit("refresh", per_minute), presented.family_digest.hex())
    known = signed_in_actor(caller, user, USER)
    async with platform.transaction(PLATFORM, known) as tx:
        session = await sessions.session_renew(tx, presented)
        if session is not None:
            claims = tokens.Claims(known.id, USER, known.tenant_id, session.auth_epoch, 0.0)
            return _with_session(await issue_token(platform, tx, claims, None), session)
    metrics.auth_refusals.labels("session_ended").inc()
    raise Problem("session_ended")


def _with_session(issued: AccessToken, session: sessions.LiveSession) -> AccessToken:
    more = {"refresh_token": session.token.text, "session_expires_at": session.expires_at}
    return issued.model_copy(update=more)


@dataclass(frozen=True, slots=True)
class ProvenPassword:
    """Proof that the caller knew the password in this epoch: a change is refused when another came first."""

    email: str
    auth_epoch: int


async def prove_password(platform: Platform, actor: Actor, password: str) -> ProvenPassword:
    """Check the password of a caller who has a token and must prove who they are. Failures count as at sign-in."""
    async with platform.database.connection(PLATFORM) as connection:
        found = await user_queries.password_read(connection, actor.id)
    if found is None:
        raise Problem("token_invalid")
    attempt = await lockouts.read_attempt(platform, found.email, actor.address)
    await lockouts.count_and_refuse(platform, attempt)
    if not await password_matches(found.password_hash, password, trusted=True):
        raise await lockouts.count_failure(platform, actor, attempt, ACTION)
    return ProvenPassword(found.email, found.auth_epoch)


async def account_token(
    platform: Platform, caller: Actor, account_id: str, secret: str, shown: ShownCertificate
) -> str:
    """Sign a service account in by its key, with all that signing in means: limits, audit rows, the last use."""
    grant = ClientCredentialsGrant(grant_type="client_credentials", client_id=account_id, client_secret=secret)
    return (await auth_token(platform, caller, grant, shown)).access_token
