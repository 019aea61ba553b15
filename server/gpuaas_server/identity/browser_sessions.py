"""Sessions of people in browsers. The cookie holds a random secret and no token: a session can end at any moment on every
replica, and the cookie says nothing about anybody.
"""

from datetime import datetime, timedelta

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import logins
from gpuaas_server.identity.callers import read_principal
from gpuaas_server.identity.cookies import CookieSecret
from gpuaas_server.identity.principals import USER, Principal
from gpuaas_server.identity.queries import browser_sessions as queries
from gpuaas_server.identity.rows import SLIDE_AFTER, BrowserSessionRow, NewBrowserSessionRow
from gpuaas_server.identity.schemas import BrowserSession, PasswordGrant
from gpuaas_server.identity.sign_in import signed_in_actor
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.identity.users import describe_principal
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id


async def session_read(connection: Connection, digest: bytes) -> BrowserSessionRow | None:
    return await queries.session_read(connection, digest)


async def session_slide(platform: Platform, session: BrowserSessionRow, now: datetime) -> BrowserSessionRow:
    """Move the session's end on. One that was ended at the same moment has no row, and stays ended."""
    moved = session.moved_on(now, timedelta(minutes=platform.settings.session_idle_minutes))
    async with platform.database.connection(PLATFORM) as connection:
        await queries.session_slide(connection, moved.id, now, moved.expires_at, now - SLIDE_AFTER)
    return moved


async def auth_session_create(
    platform: Platform, caller: Actor, grant: PasswordGrant, previous: CookieSecret | None
) -> tuple[BrowserSession, CookieSecret]:
    """Begin a session with a fresh secret: a cookie that somebody planted before opens nothing, and its session ends."""
    secret = CookieSecret.fresh()

    async def begin(tx: Tx, person: logins.ProvenPerson) -> BrowserSession:
        replaced = None if previous is None else await queries.session_end(tx.connection, previous.digest)
        session = await _start(tx, platform, person, secret)
        details: dict[str, object] = {"session": session.id}
        if replaced is not None:
            details["replaced"] = replaced.session_id
            tx.wakeups.add(TOPIC)
        await record(tx, AuditEntry("auth_session_create", person.actor.id, person.tenant_id, details=details))
        return _shown(await read_principal(tx.connection, session.user_id), session, secret)

    return await logins.password_sign_in(platform, caller, grant, "auth_session_create", begin), secret


async def _start(tx: Tx, platform: Platform, person: logins.ProvenPerson, secret: CookieSecret) -> BrowserSessionRow:
    settings = platform.settings
    ends_at = tx.now + timedelta(hours=settings.session_hours)
    session = BrowserSessionRow(new_id("bws"), person.actor.id, person.auth_epoch, tx.now, tx.now, ends_at)
    session = session.moved_on(tx.now, timedelta(minutes=settings.session_idle_minutes))
    row = NewBrowserSessionRow(
        id=session.id,
        user_id=session.user_id,
        tenant_id=person.tenant_id,
        auth_epoch=session.auth_epoch,
        secret_digest=secret.digest,
        created_at=tx.now,
        last_used_at=tx.now,
        expires_at=session.expires_at,
        ends_at=session.ends_at,
    )
    await queries.session_insert(tx.connection, row)
    return session


async def auth_session_show(platform: Platform, secret: CookieSecret | None) -> BrowserSession:
    """Return the session, read from the database and not from the gate's cache: a page that loads needs the present state."""
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


def _shown(user: Principal | None, session: BrowserSessionRow, secret: CookieSecret) -> BrowserSession:
    return BrowserSession(
        user=describe_principal(user),
        csrf_token=secret.csrf_token,
        expires_at=session.expires_at,
        ends_at=session.ends_at,
    )


async def auth_session_end(platform: Platform, caller: Actor, secret: CookieSecret) -> None:
    """End the session. When there is none, that is no error: whoever signs out twice is signed out."""
    async with platform.transaction(PLATFORM, caller) as tx:
        ended = await queries.session_end(tx.connection, secret.digest)
        if ended is None:
            return
        tx.actor = signed_in_actor(caller, ended, USER)
        details: dict[str, object] = {"session": ended.session_id}
        await record(tx, AuditEntry("auth_session_end", ended.id, ended.tenant_id, details=details))
        tx.wakeups.add(TOPIC)


async def browser_sessions_forget(tx: Tx, portion: int) -> int:
    return await queries.sessions_forget(tx.connection, tx.now, portion)
