"""A minimal HTTP/1.1 client for long polls: one connection, one request at a time.

An idle poll costs one socket and one future.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.parse
from dataclasses import dataclass

from gpuaas_agent import anchors, identity
from gpuaas_agent.anchors import Anchors
from gpuaas_agent.wire import Refused, Unreachable


@dataclass
class Target:
    """The server address that all connections of a fleet share; the TLS context changes when the platform's CA is rotated."""

    host: str
    port: int
    context: ssl.SSLContext | None
    anchors: Anchors

    def learn(self, answer: dict[str, object], task_keys: dict[str, bytes]) -> None:
        """Adopt the CAs in a heartbeat's answer for new connections."""
        if self.context is None:
            return
        try:
            received = anchors.read_statement(answer.get("tls_anchors"), task_keys)
        except anchors.AnchorsInvalid:
            return  # signed by a task key that is not known yet; the next heartbeat brings it
        if anchors.is_newer(received, self.anchors):
            self.anchors, self.context = received, identity.tls_context(received.bundle)

    @staticmethod
    def of(url: str, ca_pem: str) -> Target:
        parts = urllib.parse.urlsplit(url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        if not secure:
            return Target(parts.hostname or "", port, None, Anchors(()))
        return Target(parts.hostname or "", port, identity.tls_context(ca_pem), Anchors(anchors.split_bundle(ca_pem)))


class _Exchange(asyncio.Protocol):
    """Collects one response with a Content-Length after another."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Unreachable(f"the connection was closed: {exc!r}"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = bytes(self._received[:head_end]).lower()
        try:
            status = int(head.split(b" ", 2)[1])
            length = int(head.split(b"content-length:")[1].split(b"\r\n", 1)[0])
        except (IndexError, ValueError):
            self._fail("the answer has no length")
            return
        if len(self._received) < head_end + 4 + length:
            return
        body = bytes(self._received[head_end + 4 : head_end + 4 + length])
        self._received.clear()
        if b"connection: close" in head and self.transport is not None:
            self.transport.close()
            self.transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result((status, body))

    def _fail(self, why: str) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Unreachable(why))
        if self.transport is not None:
            self.transport.abort()

    async def send(self, data: bytes) -> tuple[int, bytes]:
        if self.transport is None:
            raise Unreachable("the connection was closed")
        self._received.clear()
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        return await self._waiting


class Connection:
    """A keep-alive connection that opens when needed, and again after the server closed it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._exchange: _Exchange | None = None
        self.lock = asyncio.Lock()

    async def call(self, method: str, path: str, body: bytes, authorization: str, timeout: float) -> dict[str, object]:
        text = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.target.host}:{self.target.port}\r\n"
            f"Authorization: {authorization}\r\n"
        )
        if body:
            text += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        try:
            async with asyncio.timeout(timeout):
                status, data = await self._send(text.encode() + b"\r\n" + body)
        except (OSError, TimeoutError) as problem:
            self.close()
            raise Unreachable(repr(problem)) from problem
        return _answer(status, data)

    async def _send(self, data: bytes) -> tuple[int, bytes]:
        if self._exchange is not None and self._exchange.transport is not None:
            try:
                return await self._exchange.send(data)
            except Unreachable:
                self._exchange = None
        _, self._exchange = await asyncio.get_running_loop().create_connection(
            _Exchange,
            self.target.host,
            self.target.port,
            ssl=self.target.context,
        )
        return await self._exchange.send(data)

    def close(self) -> None:
        if self._exchange is not None and self._exchange.transport is not None:
            self._exchange.transport.abort()
        self._exchange = None


def _answer(status: int, data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data) if data else {}
    except ValueError:
        value = {}
    if not isinstance(value, dict):
        value = {}
    if 200 <= status < 300:
        return value
    details = value.get("details")
    raise Refused(
        status,
        str(value.get("code") or "http_error"),
        str(value.get("detail") or ""),
        details if isinstance(details, dict) else {},
    )
