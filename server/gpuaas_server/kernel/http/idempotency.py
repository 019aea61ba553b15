"""Idempotency keys: the answer is stored in the transaction that did the work, so both exist or neither does.

The same key and body get the same answer, another body 422, and a request that still runs 409 (an advisory lock tells;
nobody blocks). A refusal is an answer too: `KeyedRequest` stores it before it is sent, so that a delayed attempt cannot do
later what another attempt was refused. Decision 0007 goes through every interleaving.
"""

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import field
from datetime import datetime, timedelta

from psycopg import AsyncCursor
from starlette.requests import Request
from starlette.responses import Response

from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import NOBODY
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.rows import columns_of, execute, execute_scalar
from gpuaas_server.kernel.sealer import Sealer

PROBLEM_TYPE = "application/problem+json"
_REPLAYED = "Idempotent-Replayed"
_PURPOSE = "idempotent-answer"
_KEYED, _PLAIN_BYTES = b"\x01", 32  # how a keyed fingerprint begins, and how long a plain one was
# Who you are (401, 423), how fast you may ask (429), and what the key itself is: nothing of that says what became of the
# request, and the same request may be sent again under its key.
_NO_ANSWER_STATUSES = frozenset({401, 423, 429})
_ABOUT_THE_KEY = frozenset({"idempotency_in_progress", "idempotency_mismatch"})
_REMEMBER = (
    "INSERT INTO idempotency_keys (owner_id, key, fingerprint, status, body, etag, expires_at)"
    " SELECT owner_id, key, decode(fingerprint, 'base64'), status, decode(body, 'base64'), etag, expires_at"
    " FROM jsonb_to_recordset(%s::jsonb) AS r(owner_id text, key text, fingerprint text, status smallint, body text,"
    " etag text, expires_at timestamptz)"
    " ON CONFLICT (owner_id, key) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, status = EXCLUDED.status,"
    " body = EXCLUDED.body, etag = EXCLUDED.etag, expires_at = EXCLUDED.expires_at"
)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """The key as its owner sent it, with everything that makes the request the same request."""

    owner_id: str
    key: str
    parts: Sequence[bytes] = field(repr=False)

    def fingerprint(self, sealer: Sealer) -> bytes:
        """Return the keyed hash of the request that is stored. A plain hash could give away a secret in the body."""
        framed = b"".join(len(part).to_bytes(8, "big") + part for part in self.parts)
        return _KEYED + sealer.mark(framed, _PURPOSE)

    def is_request_of(self, stored: bytes, sealer: Sealer) -> bool:
        """Tell whether the stored fingerprint is of this request."""
        if len(stored) > _PLAIN_BYTES:
            return hmac.compare_digest(stored, self.fingerprint(sealer))
        # A row of an earlier release, which stored plain hashes; it expires within `idempotency_hours` of the upgrade.
        return hmac.compare_digest(stored, hashlib.sha256(b"\n".join(self.parts)).digest())

    @property
    def lock_number(self) -> int:
        digest = hashlib.sha256(f"{self.owner_id}\n{self.key}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer to the first request under a key, which every repetition gets too."""

    status: int
    body: bytes
    etag: str | None


def is_answer(problem: Problem) -> bool:
    """Tell whether a refusal is the request's final answer, which every later attempt under its key must get too."""
    status = problem.kind.status
    return 400 <= status < 500 and status not in _NO_ANSWER_STATUSES and problem.code not in _ABOUT_THE_KEY


def respond(answer: StoredAnswer) -> Response:
    headers = {} if answer.etag is None else {"ETag": answer.etag}
    media_type = PROBLEM_TYPE if answer.status >= 400 else "application/json"
    return Response(answer.body or None, answer.status, headers, media_type if answer.body else None)


def replay(stored: StoredAnswer) -> Response:
    response = respond(stored)
    response.headers[_REPLAYED] = "true"
    return response


def is_replay(response: Response) -> bool:
    return _REPLAYED in response.headers


@dataclass(frozen=True, slots=True)
class _StoredKey:
    """The stored answer of a key, sealed."""

    fingerprint: bytes
    status: int
    body: bytes
    etag: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """The statements about a key, which have been sent; `recall` reads their answers."""

    key: IdempotencyKey
    locked: AsyncCursor[bool]
    stored: AsyncCursor[_StoredKey]


async def ask(tx: Tx, key: IdempotencyKey) -> KeyLookup:
    """Take the key until the transaction ends, unless another request has it, and ask what is stored under it."""
    # Two statements, and in this order: the second one's snapshot is taken when the lock is held, so it shows what the
    # holder before us has committed. They travel together.
    locked = await execute_scalar(tx.connection, bool, "SELECT pg_try_advisory_xact_lock(%s)", (key.lock_number,))
    stored = await execute(
        tx.connection,
        _StoredKey,
        f"SELECT {columns_of(_StoredKey)} FROM idempotency_keys WHERE owner_id = %s AND key = %s",
        (key.owner_id, key.key),
    )
    return KeyLookup(key, locked, stored)


async def recall(tx: Tx, lookup: KeyLookup, sealer: Sealer) -> StoredAnswer | None:
    """Return the stored answer, or None when this request is the first."""
    locked, stored = await lookup.locked.fetchone(), await lookup.stored.fetchone()
    if not locked:
        raise Problem("idempotency_in_progress")
    if stored is None or stored.expires_at <= tx.now:
        return None
    if not lookup.key.is_request_of(stored.fingerprint, sealer):
        raise Problem("idempotency_mismatch")
    # Answers may hold a secret that is shown once (a service account's key), so they are kept sealed.
    return StoredAnswer(stored.status, sealer.open(stored.body, _PURPOSE), stored.etag)


class Replayed(Exception):
    """The request was answered before: its transaction ends, and the caller gets that answer."""

    def __init__(self, answer: StoredAnswer) -> None:
        super().__init__("answered before")
        self.answer = answer


async def end_replay(tx: Tx, lookup: KeyLookup, sealer: Sealer) -> None:
    """Raise `Replayed` when there is a stored answer."""
    stored = await recall(tx, lookup, sealer)
    if stored is not None:
        raise Replayed(stored)


def remember(tx: Tx, key: IdempotencyKey, answer: StoredAnswer, sealer: Sealer, hours: int) -> None:
    row: dict[str, object] = {
        "owner_id": key.owner_id,
        "key": key.key,
        "fingerprint": b64encode(key.fingerprint(sealer)).decode(),
        "status": answer.status,
        "body": b64encode(sealer.seal(answer.body, _PURPOSE)).decode(),
        "etag": answer.etag,
        "expires_at": tx.now + timedelta(hours=hours),
    }
    tx.later.insert(_REMEMBER, [row])


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with an Idempotency-Key of an authenticated caller."""

    platform: Platform
    owner: Actor
    request: Request
    key: str
    if_match: str | None
    admitted: bool

    async def identity(self) -> IdempotencyKey:
        url = self.request.url
        target = f"{url.path}?{url.query}" if url.query else url.path
        parts = [self.request.method.encode(), target.encode(), await self.request.body()]
        if self.if_match is not None:  # prepared against another generation, it is another request
            parts.append(self.if_match.encode())
        return IdempotencyKey(self.owner.id, self.key, parts)

    async def settle_refusal(self, refusal: Response) -> Response:
        """Store a refusal, and return the response for the caller.

        The refused transaction is over, and so is its lock. If another attempt has been answered meanwhile, its answer stands;
        if one is running, the outcome is open (`idempotency_in_progress`).
        """
        answer = StoredAnswer(refusal.status_code, bytes(refusal.body), None)
        key = await self.identity()
        async with self.platform.transaction(NOBODY, self.owner) as tx:
            stored = await recall(tx, await ask(tx, key), self.platform.sealer)
            if stored is None:
                remember(tx, key, answer, self.platform.sealer, self.platform.settings.idempotency_hours)
        # Who is not admitted any more is not shown an earlier answer either: it may hold a secret.
        return refusal if stored is None or not self.admitted else replay(stored)
