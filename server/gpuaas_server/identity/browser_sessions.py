"""Sessions of people in browsers. The cookie holds a random secret and not a token: a session can end at any moment, on
every replica, and what the browser keeps says nothing about anybody.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import logins
from gpuaas_server.identity.callers import read_principal
from gpuaas_server.identity.cookies import CookieSecret
from gpuaas_server.identity.principals import USER, Principal
from gpuaas_server.identity.queries import browser_sessions as queries
from gpuaas_server.identity.schemas import BrowserSession, PasswordGrant
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.identity.users import described
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id

SLIDE_AFTER = timedelta(minutes=1)  # a session is moved on once a minute, not with every call


@dataclass(frozen=True, slots=True)
class KnownSession:
    """`expires_at` moves on while it is used, up to `ends_at`."""

    id: str
    user_id: str
    auth_epoch: int
    last_used_at: datetime
    expires_at: datetime
    ends_at: datetime

    def is_good(self, user: Principal, now: datetime) -> bool:
        """What ends a person's tokens (a new password, disabling) ends the session: all of it starts a new epoch."""
        return self.expires_at > now and user.auth_epoch == self.auth_epoch and not user.disabled

    def is_to_slide(self, now: datetime) -> bool:
        return self.last_used_at <= now - SLIDE_AFTER and self.expires_at < self.ends_at

    def moved_on(self, now: datetime, idle: timedelta) -> "KnownSession":
        return replace(self, last_used_at=now, expires_at=min(now + idle, self.ends_at))


async def session_read(connection: Connection, digest: bytes) -> KnownSession | None:
    row = await queries.session_read(connection, digest)
    return None if row is None else KnownSession(**row)


async def session_slide(platform: Platform, session: KnownSession, now: datetime) -> KnownSession:
    """Where it was ended at the same moment there is no row to move, and it stays ended."""
    moved = session.moved_on(now, timedelta(minutes=platform.settings.session_idle_minutes))
    async with platform.database.connection(PLATFORM) as connection:
        await queries.session_slide(connection, moved.id, now, moved.expires_at, now - SLIDE_AFTER)
    return moved


async def auth_session_create(
    platform: Platform, caller: Actor, grant: PasswordGrant, held: CookieSecret | None
) -> tuple[BrowserSession, CookieSecret]:
    """Always with a fresh secret: a cookie that somebody planted before opens nothing, and what it stood for ends."""
    secret = CookieSecret.fresh()

    async def begin(tx: Tx, person: logins.ProvenPerson) -> BrowserSession:
        replaced = None if held is None else await queries.session_end(tx.connection, held.digest)
        session = await _start(tx, platform, person, secret)
        details: dict[str, object] = {"session": session.id}
        if replaced is not None:
            details["replaced"] = replaced["session_id"]
            tx.wakeups.add(TOPIC)
        await record(tx, AuditEntry("auth_session_create", person.actor.id, person.tenant_id, details=details))
        return _shown(await read_principal(tx.connection, session.user_id), session, secret)

    return await logins.password_sign_in(platform, caller, grant, "auth_session_create", begin), secret


async def _start(tx: Tx, platform: Platform, person: logins.ProvenPerson, secret: CookieSecret) -> KnownSession:
    settings = platform.settings
    ends_at = tx.now + timedelta(hours=settings.session_hours)
    session = KnownSession(new_id("bws"), person.actor.id, person.auth_epoch, tx.now, tx.now, ends_at)
    session = session.moved_on(tx.now, timedelta(minutes=settings.session_idle_minutes))
    await queries.session_insert(
        tx.connection,
        session.id,
        session.user_id,
        person.tenant_id,
        session.auth_epoch,
        secret.digest,
        tx.now,
        session.expires_at,
        session.ends_at,
    )
    return session


async def auth_session_show(platform: Platform, secret: CookieSecret | None) -> BrowserSession:
    """Asks the database and not the gate's memory: a page that loads wants to know what is so now."""
    if secret is None:
        raise Problem("unauthenticated")
    now = platform.clock()
    async with platform.database.connection(PLATFORM) as connection:
        session = await session_read(connection, secret.digest)
        user = None if session is None else await read_principal(connection, session.user_id)
    if session is None or user is None or not session.is_good(user, now):
        metrics.auth_refusals.labels("session_ended").inc()
        raise Problem("session_ended")
    if session.is_to_slide(now):
        session = await session_slide(platform, session, now)
    return _shown(user, session, secret)


def _shown(user: Principal | None, session: KnownSession, secret: CookieSecret) -> BrowserSession:
    return BrowserSession(
        user=described(user),
        csrf_token=secret.csrf_token,
        expires_at=session.expires_at,
        ends_at=session.ends_at,
    )


async def auth_session_end(platform: Platform, caller: Actor, secret: CookieSecret) -> None:
    """Nothing to end is no error: whoever signs out twice is signed out."""
    async with platform.transaction(PLATFORM, caller) as tx:
        ended = await queries.session_end(tx.connection, secret.digest)
        if ended is None:
            return
        tx.actor = replace(caller, id=ended["id"], kind=USER, name=ended["name"], tenant_id=ended["tenant_id"] or "")
        details: dict[str, object] = {"session": ended["session_id"]}
        await record(tx, AuditEntry("auth_session_end", ended["id"], ended["tenant_id"], details=details))
        tx.wakeups.add(TOPIC)


async def browser_sessions_forget(tx: Tx, portion: int) -> int:
    return await queries.sessions_forget(tx.connection, tx.now, portion)
