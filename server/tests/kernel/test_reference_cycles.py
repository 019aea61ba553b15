"""Requests leave no reference cycles behind: the api collects all garbage seldom, so its memory would grow meanwhile."""

import asyncio
import gc
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from gpuaas_server.kernel.context import Platform
from tests_support import agents
from tests_support.agents import Site

TIMES = 5


@dataclass
class PlainClient:
    """Calls the application itself: a client library would leave garbage of its own."""

    app: ASGIApp
    token: str

    async def call(self, method: str, path: str, document: object = None, key: str | None = None) -> int:
        path, _, query = path.partition("?")
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        headers |= {} if key is None else {"idempotency-key": key}
        body = b"" if document is None else json.dumps(document).encode()
        sent: list[Message] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return waiting.pop() if waiting else await asyncio.sleep(3600, {"type": "http.disconnect"})

        async def send(message: Message) -> None:
            sent.append(message)

        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": f"/api/v1{path}",
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("192.0.2.1", 1),
            "server": ("test", 80),
        }
        await self.app(scope, receive, send)
        return int(sent[0]["status"])


@pytest.fixture
async def client(platform: Platform) -> AsyncIterator[PlainClient]:
    async with agents.opened(platform) as site:
        yield PlainClient(_application(site), site.admin.token)


def _application(site: Site) -> ASGIApp:
    app: ASGIApp = site.client._transport.app  # type: ignore[attr-defined]
    return app


@contextmanager
def cycles_found() -> Iterator["Counter[str]"]:
    """Collect nothing meanwhile; at the end, count the kinds of what only the collector could free."""
    found: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found.update(type(one).__qualname__ for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _tenant(slug: str) -> dict[str, str]:
    return {"slug": slug, "name": "Acme"}


@pytest.mark.parametrize("status", [200, 201, 409, 404])
async def test_a_request_leaves_no_reference_cycle(client: PlainClient, status: int) -> None:
    """A read, a change under a key, a refused one, and a read of what is not there."""

    async def request() -> int:
        key = secrets.token_hex(8)
        if status == 200:
            return await client.call("GET", "/tenants")
        if status == 404:
            return await client.call("GET", f"/nodes/nod_{'0' * 26}")
        return await client.call("POST", "/tenants", _tenant("taken" if status == 409 else f"t-{key}"), key)

    if status == 409:
        await client.call("POST", "/tenants", _tenant("taken"))
    await request()
    with cycles_found() as found:
        answers = [await request() for _ in range(TIMES)]
    assert set(answers) == {status}
    assert not found
