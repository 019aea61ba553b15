"""Sessions of people: a refresh token that changes with every use, so that a stolen one shows itself.

A token is a family (the session) and a secret. A family with a secret that is no longer good is a copy of an old token: then
thief and owner cannot be told apart, and the session ends.
"""

import hashlib
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from hmac import compare_digest

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.principals import USER
from gpuaas_server.identity.queries import sessions as queries
from gpuaas_server.identity.rows import AccountIdentity, LockedSession, NewSessionRow
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import new_id

PREFIX = "gsr_"
FAMILY_BYTES, SECRET_BYTES = 16, 32
RETRY_WINDOW = timedelta(seconds=30)
KEPT_AFTER_END = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A refresh token. Only its digests are ever stored."""

    family: bytes
    secret: bytes

    @classmethod
    def fresh(cls, family: bytes | None = None) -> "RefreshToken":
        return cls(family or secrets.token_bytes(FAMILY_BYTES), secrets.token_bytes(SECRET_BYTES))

    @classmethod
    def read(cls, text: str) -> "RefreshToken":
        """Read a text that has the form of a token (schemas.RefreshTokenText)."""
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
    """A session with its next token."""

    id: str
    auth_epoch: int
    expires_at: datetime
    token: RefreshToken


class TokenVerdict(Enum):
    """Says what a presented token of the session turned out to be."""

    CURRENT = "current"
    RETRY = "retry"  # the one before, by a client that lost the answer
    STALE = "stale"  # an older one, or the one before a second time
    ENDED = "ended"  # the session is over, whichever token it is


def classify_token(session: LockedSession, digest: bytes, now: datetime) -> TokenVerdict:
    if session.revoked_at is not None or session.expires_at <= now:
        return TokenVerdict.ENDED
    if session.auth_epoch != session.user_epoch or session.disabled:
        return TokenVerdict.ENDED
    if compare_digest(session.token_digest, digest):
        return TokenVerdict.CURRENT
    before = session.previous_digest
    if before is not None and compare_digest(before, digest):
        if not session.retried and now < session.rotated_at + RETRY_WINDOW:
            return TokenVerdict.RETRY
    return TokenVerdict.STALE


async def session_start(tx: Tx, user_id: str, tenant_id: str | None, epoch: int, hours: int) -> LiveSession:
    session = LiveSession(new_id("ses"), epoch, tx.now + timedelta(hours=hours), RefreshToken.fresh())
    row = NewSessionRow(
        id=session.id,
        user_id=user_id,
        tenant_id=tenant_id,
        auth_epoch=epoch,
        family_digest=session.token.family_digest,
        token_digest=session.token.digest,
        rotated_at=tx.now,
        created_at=tx.now,
        last_used_at=tx.now,
        expires_at=session.expires_at,
    )
    await queries.session_insert(tx.connection, row)
    return session


async def session_user(platform: Platform, presented: RefreshToken) -> AccountIdentity | None:
    """Return the user whose session the token belongs to, whether or not it is still good."""
    async with platform.database.connection(PLATFORM) as connection:
        return await queries.session_user(connection, presented.family_digest)


async def session_renew(tx: Tx, presented: RefreshToken) -> LiveSession | None:
    """Return the session with its next token; None when it has ended. An old token ends it here."""
    session = await queries.session_lock(tx.connection, presented.family_digest)
    if session is None:
        return None
    verdict = classify_token(session, presented.digest, tx.now)
    if verdict is TokenVerdict.STALE:
        await queries.session_revoke(tx.connection, session.id, tx.now)
    if verdict in (TokenVerdict.STALE, TokenVerdict.ENDED):
        why = "refresh_replayed" if verdict is TokenVerdict.STALE else "session_ended"
        await _record_session(tx, "auth_token", session.id, "denied", why=why)
        return None
    following = RefreshToken.fresh(presented.family)
    retried = verdict is TokenVerdict.RETRY
    await queries.session_rotate(tx.connection, session.id, following.digest, presented.digest, retried, tx.now)
    await _record_session(tx, "auth_token", session.id, "done", refreshed=True, retried=retried)
    return LiveSession(session.id, session.auth_epoch, session.expires_at, following)


async def auth_logout(platform: Platform, caller: Actor, presented: RefreshToken) -> None:
    """End the session of any of its tokens. An unknown token has nothing to end, and is no error."""
    user = await session_user(platform, presented)
    if user is None:
        return
    known = replace(caller, id=user.id, kind=USER, name=user.name, tenant_id=user.tenant_id or "")
    async with platform.transaction(PLATFORM, known) as tx:
        session = await queries.session_lock(tx.connection, presented.family_digest)
        if session is not None and session.revoked_at is None:
            await queries.session_revoke(tx.connection, session.id, tx.now)
            await _record_session(tx, "auth_logout", session.id, "done")


async def sessions_forget(tx: Tx, portion: int) -> int:
    return await queries.sessions_forget(tx.connection, tx.now - KEPT_AFTER_END, portion)


async def _record_session(tx: Tx, action: str, session_id: str, outcome: str, **details: object) -> None:
    facts: dict[str, object] = {"session": session_id, **details}
    actor = tx.actor
    await record(tx, AuditEntry(action, actor.id, actor.tenant_id or None, outcome=outcome, details=facts))
