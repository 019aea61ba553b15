"""HTTP calls to the control plane: signed, verified against the pinned CA, with deadlines and keep-alive.

A `Channel` belongs to one thread at a time; the `Wire` keeps the pool of idle channels.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass

from gpuaas_agent import signatures
from gpuaas_agent.signing_key import SigningKey

API = "/api/v1/agent"
MAX_BODY = 8 * 1024 * 1024


class Unreachable(Exception):
    """The server did not answer; the same call may be tried again."""


class Refused(Exception):
    """The server answered with a problem document."""

    def __init__(self, status: int, code: str, detail: str, details: dict[str, object]) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.details = details

    @property
    def retryable(self) -> bool:
        return self.status >= 500 or self.status in (408, 425, 429)


class Clock:
    """The host's clock, corrected by the server's time when the server refuses a request for clock skew."""

    def __init__(self) -> None:
        self._offset_ms = 0

    def now_ms(self) -> int:
        return int(time.time() * 1000) + self._offset_ms

    def now(self) -> float:
        return self.now_ms() / 1000

    def correct(self, server_time_ms: int) -> None:
        self._offset_ms = server_time_ms - int(time.time() * 1000)


@dataclass(frozen=True)
class Signer:
    key: SigningKey
    node_id: str


@dataclass(frozen=True)
class StreamRequest:
    """The address and the signed first request of a connection that outlives a call."""

    url: str
    context: ssl.SSLContext | None
    path: str
    headers: dict[str, str]


class Channel:
    """One keep-alive connection to one server address."""

    def __init__(self, base_url: str, context: ssl.SSLContext | None) -> None:
        parts = urllib.parse.urlsplit(base_url)
        self.context = context
        self._prefix = parts.path.rstrip("/")
        host, port = parts.hostname or "", parts.port
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            self._connection = http.client.HTTPSConnection(host, port, context=context)
        else:
            self._connection = http.client.HTTPConnection(host, port)

    def path(self, path: str) -> str:
        return f"{self._prefix}{API}{path}"

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str], timeout: float) -> tuple[int, bytes]:
        connection = self._connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        connection.request(method, path, body=body or None, headers=headers)
        response = connection.getresponse()
        data = response.read(MAX_BODY + 1)
        if len(data) > MAX_BODY:
            raise http.client.HTTPException("the response is too long")
        return response.status, data

    @property
    def reused(self) -> bool:
        return self._connection.sock is not None

    def close(self) -> None:
        self._connection.close()


class Wire:
    """Signed calls. Several server addresses are tried in turn."""

    def __init__(
        self,
        urls: list[str],
        context: ssl.SSLContext | None,
        clock: Clock,
        signer: Signer | None = None,
    ) -> None:
        self._urls = urls
        self._context = context
        self._signer = signer
        self.clock = clock
        self._idle: queue.SimpleQueue[tuple[str, Channel]] = queue.SimpleQueue()
        self._preferred = 0
        self._lock = threading.Lock()
        self._exchange = threading.Lock()

    def call(
        self, method: str, path: str, payload: object = None, *, timeout: float = 20.0, signer: Signer | None = None
    ) -> dict[str, object]:
        """Make one call. It is retried once after a correction of the clock, on a stale connection, or if the key was
        rotated during the call. `signer` signs with another key than the node's current one.
        """
        body = b"" if payload is None else json.dumps(payload, separators=(",", ":")).encode()
        by = signer or self._signer
        try:
            return self._call_once(method, path, body, timeout, by)
        except Refused as refusal:
            if refusal.code == "node_key_replaced" and signer is None and (newer := self._signer_after(by)) is not None:
                return self._call_once(method, path, body, timeout, newer)
            if refusal.code == "agent_replay":
                return self._call_once(method, path, body, timeout, by)
            server_time = refusal.details.get("server_time_ms")
            if refusal.code != "agent_clock_skew" or not isinstance(server_time, int):
                raise
            self.clock.correct(server_time)
            return self._call_once(method, path, body, timeout, by)

    @contextlib.contextmanager
    def exchanging_signer(self) -> Iterator[None]:
        """Hold the lock of a key rotation: refused calls wait for its end before they fail."""
        with self._exchange:
            yield

    def _signer_after(self, used: Signer | None) -> Signer | None:
        """Return the current signer if it is another one than the one that was used."""
        with self._exchange:
            return None if self._signer is used else self._signer

    def _call_once(
        self, method: str, path: str, body: bytes, timeout: float, signer: Signer | None
    ) -> dict[str, object]:
        while True:
            url, channel = self._enqueue()
            reused = channel.reused
            full_path = channel.path(path)
            try:
                headers = self._headers(method, full_path, body, signer)
                status, data = channel.send(method, full_path, body, headers, timeout)
            except (OSError, http.client.HTTPException) as problem:
                channel.close()
                if reused and not isinstance(problem, TimeoutError):
                    continue  # the server closed an idle connection: use another one
                self._prefer_next(url)
                raise Unreachable(f"{url}: {problem!r}") from problem
            self._put_back(url, channel)
            return answer(status, data)

    def use_signer(self, signer: Signer) -> None:
        """Sign all further calls with this key."""
        self._signer = signer

    def use_context(self, context: ssl.SSLContext) -> None:
        """Verify all new connections with this context; older connections are closed after their call."""
        self._context = context
        while True:
            try:
                _, channel = self._idle.get_nowait()
            except queue.Empty:
                return
            channel.close()

    def _put_back(self, url: str, channel: Channel) -> None:
        if channel.context is self._context:
            self._idle.put((url, channel))
        else:
            channel.close()

    def stream_requests(self, path: str) -> list[StreamRequest]:
        """Return a WebSocket request for each server, the preferred one first, signed like a GET without a body."""
        found = []
        for number in range(len(self._urls)):
            url = self._urls[(self._preferred + number) % len(self._urls)]
            full_path = Channel(url, self._context).path(path)
            found.append(
                StreamRequest(url, self._context, full_path, self._headers("GET", full_path, b"", self._signer))
            )
        return found

    def _headers(self, method: str, path: str, body: bytes, signer: Signer | None) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        if signer is not None:
            headers["Authorization"] = signatures.authorization(
                signer.key, signer.node_id, method, path, body, self.clock.now_ms()
            )
        return headers

    def _enqueue(self) -> tuple[str, Channel]:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            url = self._urls[self._preferred % len(self._urls)]
            return url, Channel(url, self._context)

    def _prefer_next(self, failed_url: str) -> None:
        with self._lock:
            if self._urls[self._preferred % len(self._urls)] == failed_url:
                self._preferred += 1


def answer(status: int, data: bytes) -> dict[str, object]:
    """Return the body of a success; raise Refused for a problem document."""
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
        str(value.get("detail") or value.get("title") or ""),
        details if isinstance(details, dict) else {},
    )
