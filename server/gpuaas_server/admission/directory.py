"""Caches between calls what the gate reads: verified tokens, signing keys, principals, browser sessions, tenants, projects,
consents to controllers, and limits of streams.

A change of any of them wakes the topic `identity`, which empties the cache of every process; a lost wake-up is made up for
by the 10 s after which anything is read again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gpuaas_server.admission.hooks import consent_hooks, quota_hooks
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import (
    TOPIC,
    BrowserSessionRow,
    Claims,
    Principal,
    read_principal,
    session_read,
    verifying_keys,
)
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.quotas import StreamQuota
from gpuaas_server.kernel.tasks import stop
from gpuaas_server.projects import service as projects
from gpuaas_server.projects.service import CallTarget

REMEMBERED_SECONDS = 10.0
MOST_REMEMBERED = 10_000
UNKNOWN_KEY_PAUSE = 1.0

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Keeps values for a while. A value that was read before the last `forget` is never kept."""

    def __init__(self, read: Callable[[str], Awaitable[Value | None]]) -> None:
        self._read = read
        self._values: dict[str, tuple[Value, float]] = {}
        self._era = 0

    async def get(self, name: str) -> Value | None:
        known = self._values.get(name)
        if known is not None and known[1] > time.monotonic():
            return known[0]
        era = self._era
        value = await self._read(name)
        if value is not None and era == self._era:
            if len(self._values) >= MOST_REMEMBERED:
                self._values.clear()
            self._values[name] = (value, time.monotonic() + REMEMBERED_SECONDS)
        return value

    def forget(self) -> None:
        self._era += 1
        self._values.clear()

    def drop(self, name: str) -> None:
        self._values.pop(name, None)


class Directory:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.principals = Cache(self._read_principal)
        self.projects = Cache(self._read_project)
        self.tenants = Cache(self._read_tenant)
        self.consents = Cache(self._read_consents)  # by service account, tenant and project, with blanks between
        self.stream_quotas = Cache(self._read_stream_quota)  # by tenant and project, with a blank between
        self.sessions = Cache(self._read_session)  # by the digest of the cookie's secret, in hexadecimal
        self._tokens: dict[str, Claims] = {}
        self._keys: dict[str, tuple[Ed25519PublicKey, datetime | None]] = {}
        self._keys_read_at = -REMEMBERED_SECONDS
        self._listening: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self._read_keys()
        subscribed = asyncio.Event()
        self._listening = asyncio.create_task(self._listen(subscribed), name="identity-directory")
        await subscribed.wait()

    async def close(self) -> None:
        if self._listening is not None:
            await stop(self._listening)

    async def _listen(self, subscribed: asyncio.Event) -> None:
        async with self._platform.wakeups.waiting(TOPIC) as woken:
            subscribed.set()
            while True:
                await woken.wait()
                woken.clear()
                self.forget()

    def forget(self) -> None:
        self.principals.forget()
        self.projects.forget()
        self.tenants.forget()
        self.consents.forget()
        self.stream_quotas.forget()
        self.sessions.forget()
        self._keys_read_at = -REMEMBERED_SECONDS

    async def claims(self, token: str) -> Claims:
        """Return the claims of a genuine token. A signature is checked once; the caller checks the expiry."""
        claims = self._tokens.get(token)
        if claims is not None and time.monotonic() - self._keys_read_at < REMEMBERED_SECONDS:
            return claims
        key = await self._key(identity.token_key_id(token))
        claims = self._tokens.get(token) or identity.verify_token(token, key)
        if len(self._tokens) >= MOST_REMEMBERED:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[token] = claims
        return claims

    async def _key(self, key_id: str) -> Ed25519PublicKey:
        """Return the key of this id. An unknown one may be another replica's new one: read again, at a bounded rate."""
        age = time.monotonic() - self._keys_read_at
        if age >= REMEMBERED_SECONDS or (key_id not in self._keys and age >= UNKNOWN_KEY_PAUSE):
            await self._read_keys()
        key, verifies_until = self._keys.get(key_id, (None, None))
        if key is None or (verifies_until is not None and verifies_until <= self._platform.clock()):
            raise Problem("token_invalid")
        return key

    async def _read_keys(self) -> None:
        now = time.monotonic()
        async with self._platform.database.connection(PLATFORM) as connection:
            keys = await verifying_keys(connection, self._platform.clock())
        if not self._keys.keys() <= keys.keys():
            self._tokens.clear()  # a key was removed: its tokens must be verified again
        self._keys, self._keys_read_at = keys, now

    async def _read_principal(self, principal_id: str) -> Principal | None:
        async with self._platform.database.connection(PLATFORM) as connection:
            return await read_principal(connection, principal_id)

    async def _read_project(self, project_id: str) -> CallTarget | None:
        async with self._platform.database.connection(PLATFORM) as connection:
            return await projects.project_target(connection, project_id)

    async def _read_consents(self, place: str) -> Mapping[str, Sequence[str]] | None:
        account_id, tenant_id, project_id = place.split(" ")
        async with self._platform.database.connection(PLATFORM) as connection:
            return await consent_hooks().consented_apps(connection, account_id, tenant_id, project_id) or None

    async def _read_stream_quota(self, place: str) -> StreamQuota | None:
        tenant_id, project_id = place.split(" ")
        async with self._platform.database.connection(PLATFORM) as connection:
            return await quota_hooks().stream_quota(connection, tenant_id, project_id)

    async def _read_session(self, digest: str) -> BrowserSessionRow | None:
        async with self._platform.database.connection(PLATFORM) as connection:
            return await session_read(connection, bytes.fromhex(digest))

    async def _read_tenant(self, tenant_id: str) -> CallTarget | None:
        async with self._platform.database.connection(PLATFORM) as connection:
            return await projects.tenant_target(connection, tenant_id)
