"""The outermost layer of every request: correlation, body limit, metrics, log line, and no exception escapes as text."""

import logging
import re
import time
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor
from gpuaas_server.kernel.database_health import OUTAGE_ERRORS
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.direct import DirectRoute
from gpuaas_server.kernel.http.origin import token_source, user_agent
from gpuaas_server.kernel.http.problems import problem_of_outage, problem_response
from gpuaas_server.kernel.http.routers import API
from gpuaas_server.kernel.logs import correlation_id

log = logging.getLogger("gpuaas.http")

UNLIMITED = 1 << 62
# An answer of the API is no page. Should a browser take one for it, nothing in it runs, and nothing is ours.
_NO_PAGE = "default-src 'none'; frame-ancestors 'none'; sandbox"
_CORRELATION = re.compile(r"[A-Za-z0-9._:-]{8,128}")
_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Edge:
    def __init__(
        self,
        app: ASGIApp,
        max_body_bytes: int,
        streams: Callable[[str, str], bool] = lambda method, path: False,
        direct: Sequence[DirectRoute] = (),
    ) -> None:
        """`streams` says which methods and paths send their body straight to a store, which has a limit of its own."""
        self._app = app
        self._max_body = max_body_bytes
        self._streams = streams
        self._direct = direct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._open(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {k: v for k, v in scope["headers"] if k in (b"x-correlation-id", b"traceparent", b"content-length")}
        correlation, traceparent = _trace(headers)
        scope.setdefault("state", {}).update(correlation_id=correlation, traceparent=traceparent)
        token = correlation_id.set(correlation)
        limit = UNLIMITED if self._streams(scope["method"], scope["path"]) else self._max_body
        exchange = _Exchange(scope, receive, send, correlation, traceparent, limit)
        try:
            declared = headers.get(b"content-length", b"0")
            if declared.isdigit() and int(declared) > limit:
                raise exchange.too_large()
            app = next((route for route in self._direct if route.takes(scope)), self._app)
            await app(scope, exchange.receive, exchange.send)
        except Exception as error:
            await self._fail(exchange, error)
        finally:
            exchange.finish()
            # The state refers to the request, which refers to the state: a cycle that only the garbage collector would free.
            scope["state"].clear()
            correlation_id.reset(token)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Name a WebSocket like any request. Its content is not inspected."""
        correlation, traceparent = _trace(dict(scope["headers"]))
        scope.setdefault("state", {}).update(correlation_id=correlation, traceparent=traceparent)
        token = correlation_id.set(correlation)
        try:
            await self._app(scope, receive, send)
        finally:
            correlation_id.reset(token)

    async def _fail(self, exchange: "_Exchange", error: Exception) -> None:
        if isinstance(error, ClientDisconnect):
            return  # the client is gone, so no answer is sent
        if isinstance(error, OUTAGE_ERRORS):  # in the middle of an answer, such as a stream: its client comes again
            error = problem_of_outage(error)
        problem = error if isinstance(error, Problem) else Problem("internal")
        if problem.code == "internal":
            log.error("unhandled error", exc_info=error)
        if exchange.status == 0:
            response = problem_response(problem, exchange.correlation)
            await response(exchange.scope, exchange.receive, exchange.send)


def _trace(headers: dict[bytes, bytes]) -> tuple[str, str]:
    """Return the caller's correlation id and traceparent when well formed, else fresh ones of the same identity."""
    traceparent = headers.get(b"traceparent", b"").decode("latin-1")
    if not _TRACEPARENT.fullmatch(traceparent):
        identity = uuid4().hex
        traceparent = f"00-{identity}-{identity[:16]}-01"
    correlation = headers.get(b"x-correlation-id", b"").decode("latin-1")
    if not _CORRELATION.fullmatch(correlation):
        correlation = traceparent[3:35]
    return correlation, traceparent


class _Exchange:
    """One request and its answer, as they are counted and logged."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, correlation: str, traceparent: str, max_body: int
    ) -> None:
        self.scope = scope
        self.correlation = correlation
        self.status = 0
        self._traceparent = traceparent
        self._receive = receive
        self._send = send
        self._max_body = max_body
        self._seen = 0
        self._started = time.perf_counter()

    def too_large(self) -> Problem:
        return Problem("body_too_large", f"A body may have {self._max_body} bytes.")

    async def receive(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._max_body:
            raise self.too_large()
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Correlation-ID"] = self.correlation
            headers["traceparent"] = self._traceparent
            headers["X-Content-Type-Options"] = "nosniff"
            if "Cache-Control" not in headers:
                headers["Cache-Control"] = "no-store"
            if self.scope["path"].startswith("/api/"):
                headers.add_vary_header("Authorization, Cookie")  # for a cache that ignores no-store
                headers["Content-Security-Policy"] = _NO_PAGE
        await self._send(message)

    def finish(self) -> None:
        route = getattr(self.scope.get("route"), "path", "unmatched").removeprefix(API)
        seconds = time.perf_counter() - self._started
        method = self.scope["method"]
        metrics.requests.labels(route, method, str(self.status)).inc()
        waits = b"wait=" in self.scope["query_string"]
        if not waits:
            metrics.request_seconds.labels(route).observe(seconds)
        if log.isEnabledFor(logging.INFO) and not (waits and self.status == 200):
            log.info(
                "request",
                extra={
                    "method": method,
                    "path": self.scope["path"],
                    "status": self.status,
                    "ms": round(seconds * 1000, 2),
                },
            )


def client_address(request: Request) -> str:
    return request.client.host if request.client else ""


_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


def is_local(request: Request) -> bool:
    """Tell whether the client is a process of this machine. A request that a local proxy forwards for others is not local."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ip_address(client_address(request)).is_loopback
    except ValueError:
        return False


def anonymous_actor(request: Request) -> Actor:
    """Return the actor of an unauthenticated request: only the address is known."""
    state = request.scope["state"]
    return Actor(
        id="anonymous",
        kind="anonymous",
        name="anonymous",
        correlation_id=state["correlation_id"],
        traceparent=state["traceparent"],
        address=client_address(request),
        user_agent=user_agent(request),
        source=token_source(request),
    )
