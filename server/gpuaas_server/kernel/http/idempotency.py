"""Idempotency keys: the answer is stored in the transaction that did the work, so it is there exactly when the work is.

Same key and body: the same answer. Another body: 422. Still running: 409 (an advisory lock tells, nobody blocks).
"""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from datetime import timedelta

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import rows_removed
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.sealing import Sealer

_PURPOSE = "idempotent-answer"
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
    """The key as its owner sent it, with a fingerprint of everything that makes the request the same request."""

    owner_id: str
    key: str
    fingerprint: bytes

    @property
    def lock_number(self) -> int:
        digest = hashlib.sha256(f"{self.owner_id}\n{self.key}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    status: int
    body: bytes
    etag: str | None


def fingerprint(method: str, path: str, body: bytes) -> bytes:
    return hashlib.sha256(b"\n".join((method.encode(), path.encode(), body))).digest()


@dataclass(frozen=True, slots=True)
class Recalling:
    """The questions about a key, on their way; `recall` has the answer."""

    key: IdempotencyKey
    lock: AsyncCursor[DictRow]
    look: AsyncCursor[DictRow]


async def ask(tx: Tx, key: IdempotencyKey) -> Recalling:
    """Take the key, if nobody has it, until the transaction ends; and look what is stored under it."""
    # Two statements, and in this order: the second one's snapshot is taken when the lock is held, so it shows what the
    # holder before us has committed. They travel together.
    lock = await tx.connection.execute("SELECT pg_try_advisory_xact_lock(%s) AS held", (key.lock_number,))
    look = await tx.connection.execute(
        "SELECT fingerprint, status, body, etag, expires_at FROM idempotency_keys WHERE owner_id = %s AND key = %s",
        (key.owner_id, key.key),
    )
    return Recalling(key, lock, look)


async def recall(tx: Tx, asked: Recalling, sealer: Sealer) -> StoredAnswer | None:
    """The stored answer, or None when this request is the first."""
    lock, row = await asked.lock.fetchone(), await asked.look.fetchone()
    if lock is None or not lock["held"]:
        raise Problem("idempotency_in_progress")
    if row is None or row["expires_at"] <= tx.now:
        return None
    if bytes(row["fingerprint"]) != asked.key.fingerprint:
        raise Problem("idempotency_mismatch")
    # Answers may hold a secret that is shown once (a service account's key), so they are kept sealed.
    return StoredAnswer(row["status"], sealer.open(bytes(row["body"]), _PURPOSE), row["etag"])


def remember(tx: Tx, key: IdempotencyKey, answer: StoredAnswer, sealer: Sealer, hours: int) -> None:
    row: dict[str, object] = {
        "owner_id": key.owner_id,
        "key": key.key,
        "fingerprint": b64encode(key.fingerprint).decode(),
        "status": answer.status,
        "body": b64encode(sealer.seal(answer.body, _PURPOSE)).decode(),
        "etag": answer.etag,
        "expires_at": tx.now + timedelta(hours=hours),
    }
    tx.later.insert(_REMEMBER, [row])


async def forget_expired(tx: Tx, portion: int) -> int:
    return await rows_removed(
        tx.connection,
        "DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(SELECT ctid FROM idempotency_keys"
        " WHERE expires_at <= %s ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED))",
        (tx.now, portion),
    )
