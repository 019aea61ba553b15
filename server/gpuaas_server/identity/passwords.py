"""Passwords: argon2id in threads of their own, so that neither the event loop nor other threads wait.

Unauthenticated callers can cause hashing, so it is bounded: half of the cores, and a short queue. A part of the queue is
reserved for callers that are signed in or come from a network where the account signed in before. Hash before a
transaction begins, never inside: a connection must not wait for the queue.
"""

import asyncio
import base64
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

Done = TypeVar("Done")
_COMMON = ("password", "passwort", "qwerty", "letmein", "welcome", "administrator", "changeme", "iloveyou")


class PasswordQueue:
    """Bounds the work: at most `most` passwords wait or are hashed; untrusted callers may use all but `reserved` of them."""

    def __init__(self, threads: int, most: int, reserved: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="argon2")
        self._most, self._reserved = most, reserved
        self._lock = Lock()
        self.length = 0

    async def run(self, trusted: bool, work: Callable[..., Done], *arguments: str | None) -> Done:
        self._enter(self._most if trusted else self._most - self._reserved)
        future = self._pool.submit(work, *arguments)
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def _enter(self, most: int) -> None:
        with self._lock:
            if self.length >= most:
                metrics.auth_refusals.labels("sign_in_busy").inc()
                raise Problem("sign_in_busy", headers={"Retry-After": "2"})
            self.length += 1
            metrics.password_queue.set(self.length)

    def _leave(self, _: object) -> None:
        """Give the place back when the work has ended, not when its caller disconnected: it uses a core until then."""
        with self._lock:
            self.length -= 1
            metrics.password_queue.set(self.length)


# OWASP's floor for argon2id: 19 MiB and about 20 ms of a core for each.
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_threads = max(1, min(4, len(os.sched_getaffinity(0)) // 2))
queue = PasswordQueue(_threads, most=64, reserved=16)


def _nobodys_hash() -> str:
    """Return a hash that no password has. It is written, not computed: that would take as long as a check."""
    salt, tag = (
        base64.b64encode(secrets.token_bytes(length)).decode().rstrip("=")
        for length in (_hasher.salt_len, _hasher.hash_len)
    )
    bounds = f"m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    return f"$argon2id$v=19${bounds}${salt}${tag}"


_UNKNOWN_USER = _nobodys_hash()


async def hash_password(password: str) -> str:
    return await queue.run(True, _hasher.hash, password)


async def password_matches(password_hash: str | None, password: str, trusted: bool = False) -> bool:
    """Tell whether the password is right. For an unknown user (None) the same work is done, so that time tells nothing."""
    matches = await queue.run(trusted, _verify, password_hash, password)
    return matches and password_hash is not None


def _verify(password_hash: str | None, password: str) -> bool:
    try:
        return _hasher.verify(password_hash or _UNKNOWN_USER, password)
    except (VerificationError, InvalidHashError):
        return False


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """A new password with its hash, made before the transaction that stores it; `text` is shown once if we made it."""

    hash: str
    text: str | None


async def hash_new_password(chosen: str | None, email: str) -> HashedPassword:
    """Hash a chosen password, which must be strong, or one that we make."""
    if chosen is None:
        made = random_password()
        return HashedPassword(await hash_password(made), made)
    require_strong(chosen, email)
    return HashedPassword(await hash_password(chosen), None)


def random_password() -> str:
    return secrets.token_urlsafe(18)


def weakness(password: str, email: str) -> str | None:
    """Return what is wrong with a new password, or None. It checks the length too, for callers without a schema."""
    plain = password.lower()
    if len(password) < 12:
        return "The password has fewer than 12 characters."
    if len(set(plain)) < 5:
        return "The password repeats a few characters."
    if any(word in plain and len(plain) - len(word) < 8 for word in _COMMON):
        return "The password is close to a common password."
    if plain in (email, email.partition("@")[0]):
        return "The password is the account's own name."
    return None


def require_strong(password: str, email: str) -> None:
    fault = weakness(password, email)
    if fault is not None:
        raise Problem("weak_password", fault)
