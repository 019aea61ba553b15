"""Sessions of people: a refresh token that changes with every use, so that a stolen one shows itself.

A token is a family (the session) and a secret. Whoever presents the family with a secret that is no longer good
holds a copy of an old token: then nobody can tell thief and owner apart, and the session ends.
"""

import hashlib
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from hmac import compare_digest

from psycopg.rows import DictRow

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.principals import USER
from gpuaas_server.identity.queries import sessions as queries
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id

PREFIX = "gsr_"
FAMILY_BYTES, SECRET_BYTES = 16, 32
RETRY_WINDOW = timedelta(seconds=30)
KEPT_AFTER_END = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """Only the digests are ever stored."""

    family: bytes
    secret: bytes

    @classmethod
    def fresh(cls, family: bytes | None = None) -> "RefreshToken":
        return cls(family or secrets.token_bytes(FAMILY_BYTES), secrets.token_bytes(SECRET_BYTES))

    @classmethod
    def read(cls, text: str) -> "RefreshToken":
        """Of a text that has the form of one (schemas.RefreshTokenText)."""
        raw = urlsafe_b64decode(text.removeprefix(PREFIX))
        return cls(raw[:FAMILY_BYTES], raw[FAMILY_BYTES:])

    @property
    def text(self) -> str:
        return PREFIX + urlsafe_b64encode(self.family + self.secret).decode()

    @property
    def family_digest(self) -> bytes:
        return hashlib.sha256(self.family).digest()

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.family + self.secret).digest()


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A session with the token that is good next."""

    id: str
    auth_epoch: int
    expires_at: datetime
    token: RefreshToken


class Presented(Enum):
    """What somebody with a token of the session has in hand."""

    CURRENT = "current"
    RETRY = "retry"  # the one before, by a client that lost the answer
    STALE = "stale"  # an older one, or the one before a second time
    ENDED = "ended"  # the session is over, whichever token it is


def judge(session: DictRow, digest: bytes, now: datetime) -> Presented:
    if session["revoked_at"] is not None or session["expires_at"] <= now:
        return Presented.ENDED
    if session["auth_epoch"] != session["user_epoch"] or session["disabled"]:
        return Presented.ENDED
    if compare_digest(bytes(session["token_digest"]), digest):
        return Presented.CURRENT
    before = session["previous_digest"]
    if before is not None and compare_digest(bytes(before), digest):
        if not session["retried"] and now < session["rotated_at"] + RETRY_WINDOW:
            return Presented.RETRY
    return Presented.STALE


async def session_start(tx: Tx, user_id: str, tenant_id: str | None, epoch: int, hours: int) -> LiveSession:
    session = LiveSession(new_id("ses"), epoch, tx.now + timedelta(hours=hours), RefreshToken.fresh())
    await queries.session_insert(
        tx.connection,
        session.id,
        user_id,
        tenant_id,
        epoch,
        session.token.family_digest,
        session.token.digest,
        session.expires_at,
        tx.now,
    )
    return session


async def session_holder(platform: Platform, presented: RefreshToken) -> DictRow | None:
    """The user (id, name, tenant_id) whose session the token belongs to; whether it is still good is not said."""
    async with platform.database.connection(PLATFORM) as connection:
        return await queries.session_holder(connection, presented.family_digest)


async def session_renew(tx: Tx, presented: RefreshToken) -> LiveSession | None:
    """The session with its next token; None when it has ended, which an old token brings about here."""
    session = await queries.session_hold(tx.connection, presented.family_digest)
    if session is None:
        return None
    verdict = judge(session, presented.digest, tx.now)
    if verdict is Presented.STALE:
        await queries.session_revoke(tx.connection, session["id"], tx.now)
    if verdict in (Presented.STALE, Presented.ENDED):
        why = "refresh_replayed" if verdict is Presented.STALE else "session_ended"
        await _recorded(tx, "auth_token", session["id"], "denied", why=why)
        return None
    following = RefreshToken.fresh(presented.family)
    retried = verdict is Presented.RETRY
    await queries.session_rotate(tx.connection, session["id"], following.digest, presented.digest, retried, tx.now)
    await _recorded(tx, "auth_token", session["id"], "done", refreshed=True, retried=retried)
    return LiveSession(session["id"], session["auth_epoch"], session["expires_at"], following)


async def auth_logout(platform: Platform, caller: Actor, presented: RefreshToken) -> None:
    """Any token of the session ends it; one that is unknown has nothing to end, and is no error."""
    user = await session_holder(platform, presented)
    if user is None:
        return
    known = replace(caller, id=user["id"], kind=USER, name=user["name"], tenant_id=user["tenant_id"] or "")
    async with platform.transaction(PLATFORM, known) as tx:
        session = await queries.session_hold(tx.connection, presented.family_digest)
        if session is not None and session["revoked_at"] is None:
            await queries.session_revoke(tx.connection, session["id"], tx.now)
            await _recorded(tx, "auth_logout", session["id"], "done")


async def sessions_forget(tx: Tx, portion: int) -> int:
    return await queries.sessions_forget(tx.connection, tx.now - KEPT_AFTER_END, portion)


async def _recorded(tx: Tx, action: str, session_id: str, outcome: str, **details: object) -> None:
    facts: dict[str, object] = {"session": session_id, **details}
    actor = tx.actor
    await record(tx, AuditEntry(action, actor.id, actor.tenant_id or None, outcome=outcome, details=facts))
