"""Passwords: argon2id in threads of their own, so that neither the event loop nor other threads wait."""

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gpuaas_server.kernel.errors import Problem

# OWASP's floor for argon2id. Two threads bound what a flood of sign-ins can take: 2 × 19 MiB and two cores.
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="argon2")
_UNKNOWN_USER = _hasher.hash(secrets.token_hex(16))
_COMMON = ("password", "passwort", "qwerty", "letmein", "welcome", "administrator", "changeme", "iloveyou")


async def hash_password(password: str) -> str:
    return await asyncio.get_running_loop().run_in_executor(_threads, _hasher.hash, password)


async def password_matches(password_hash: str | None, password: str) -> bool:
    """None is a user that does not exist: the same work is done, so that time does not tell who does."""
    loop = asyncio.get_running_loop()
    matches = await loop.run_in_executor(_threads, _verify, password_hash or _UNKNOWN_USER, password)
    return matches and password_hash is not None


def _verify(password_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def random_password() -> str:
    return secrets.token_urlsafe(18)


def weakness(password: str, email: str) -> str | None:
    """What is wrong with a new password, or None. Also checks the length, for callers without a schema."""
    plain = password.lower()
    if len(password) < 12:
        return "It has fewer than 12 characters."
    if len(set(plain)) < 5:
        return "It repeats a few characters."
    if any(word in plain and len(plain) - len(word) < 8 for word in _COMMON):
        return "It is close to a common password."
    if plain in (email, email.partition("@")[0]):
        return "It is the account's own name."
    return None


def require_strong(password: str, email: str) -> None:
    fault = weakness(password, email)
    if fault is not None:
        raise Problem("weak_password", fault)
