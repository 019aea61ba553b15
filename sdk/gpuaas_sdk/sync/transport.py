# Derived from gpuaas_sdk/aio/transport.py by tools/sdk-client; change that file instead.
"""Sends HTTP calls to the platform: token, correlation id, idempotency key, retries, typed errors."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx

from gpuaas_sdk.credentials import ClientCertificate, Token
from gpuaas_sdk.errors import GpuaasError, Unreachable, error_from
from gpuaas_sdk.retries import RetryPolicy
from gpuaas_sdk.sync.tokens import TokenManager
from gpuaas_sdk.wire import QueryValue, path_of, query_of, unreachable, verification

RENEWABLE = frozenset({"token_expired", "token_invalid"})
Content = Callable[[], Iterator[bytes]]  # called again for each attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call. Every attempt sends the same idempotency key."""

    method: str
    path: str
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    content: Content | None = None  # bytes instead of a body
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    idempotency_key: str = field(default_factory=lambda: uuid4().hex)
    correlation_id: str = field(default_factory=lambda: uuid4().hex)

    def all_headers(self, token: str | None) -> dict[str, str]:
        headers = {"X-Correlation-ID": self.correlation_id, "Accept": "application/json"}
        if self.method != "GET":
            headers["Idempotency-Key"] = self.idempotency_key
        if self.content is not None:
            headers["Content-Type"] = "application/octet-stream"
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return {**headers, **self.headers}

    def parameters(self) -> dict[str, str | int | bool | list[str]]:
        return query_of(self.query)


@dataclass(frozen=True, slots=True)
class WebSocketTarget:
    """Says how to open a WebSocket: URL, headers, the CA that verifies the server, and the client certificate."""

    url: str
    headers: Mapping[str, str] = field(repr=False)  # the token is among them
    ca_file: str | Path | None
    certificate: ClientCertificate | None = None


class Transport:
    def __init__(
        self,
        base_url: str,
        tokens: TokenManager,
        *,
        ca_file: str | Path | None = None,
        certificate: ClientCertificate | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        user_agent: str = "gpuaas-sdk",
    ) -> None:
        self._tokens = tokens
        self._base_url = base_url.rstrip("/")
        self._ca_file = ca_file
        self._certificate = certificate
        self._timeout = timeout
        self._retry = retry or RetryPolicy()
        self._http = httpx.Client(
            base_url=base_url.rstrip("/"),
            timeout=timeout,
            headers={"User-Agent": user_agent},
            **verification(base_url, ca_file, certificate),
        )

    def close(self) -> None:
        self._http.close()

    def send(self, request: Request) -> httpx.Response:
        """Sends the call, and retries it while that can help and attempts are left."""
        attempt, renewed = 0, False
        while True:
            attempt += 1
            token = self._token()
            try:
                return self._send_once(request, token)
            except GpuaasError as error:
                if error.code in RENEWABLE and not renewed and self._replace(token):
                    renewed = True
                    continue
                delay = self._retry.delay(error, attempt)
                if delay is None:
                    raise
            time.sleep(delay)

    @contextmanager
    def stream(self, request: Request, read_timeout: float) -> Iterator[httpx.Response]:
        """Streams an answer. There is one attempt; the caller resumes."""
        token = self._token()
        timeout = httpx.Timeout(self._timeout, read=read_timeout)
        try:
            with self._open(request, request.all_headers(token), timeout) as response:
                yield response
        except GpuaasError as error:
            if error.code in RENEWABLE:
                self._replace(token)
            raise

    def download(self, request: Request) -> Iterator[bytes]:
        """Yields the bytes of an answer, from a bucket if the platform redirects there. The bucket does not get our token."""
        headers = request.all_headers(self._token()) | {"Accept": "*/*", "Accept-Encoding": "identity"}
        with self._open(request, headers, httpx.Timeout(self._timeout), follow_redirects=True) as response:
            for chunk in response.iter_raw():
                yield chunk

    @contextmanager
    def _open(
        self, request: Request, headers: dict[str, str], timeout: httpx.Timeout, follow_redirects: bool = False
    ) -> Iterator[httpx.Response]:
        query = request.parameters()
        try:
            with self._http.stream(
                request.method,
                request.path,
                params=query,
                headers=headers,
                timeout=timeout,
                follow_redirects=follow_redirects,
            ) as response:
                if not response.is_success:
                    response.read()
                    raise error_from(response)
                yield response
        except httpx.TransportError as error:
            raise self._unreachable(error, request) from error

    def _send_once(self, request: Request, token: str | None) -> httpx.Response:
        try:
            response = self._http.request(
                request.method,
                request.path,
                params=request.parameters(),
                json=request.body,
                content=None if request.content is None else request.content(),
                headers=request.all_headers(token),
                timeout=request.timeout or self._timeout,
            )
        except httpx.TransportError as error:
            raise self._unreachable(error, request) from error
        if response.is_success:
            return response
        raise error_from(response)

    def websocket_target(self, path: str) -> WebSocketTarget:
        """Return how to open a WebSocket on this path. The server checks the token when it opens."""
        request = Request(method="GET", path=path)
        headers = {**request.all_headers(self._token()), "Accept": "*/*"}
        return WebSocketTarget(
            "ws" + self._base_url.removeprefix("http") + path, headers, self._ca_file, self._certificate
        )

    def _unreachable(self, error: httpx.TransportError, request: Request) -> Unreachable:
        return unreachable(error, request.correlation_id, str(self._http.base_url), self._certificate)

    def _token(self) -> str | None:
        return self._tokens.get_token(self.exchange)

    def _replace(self, refused: str | None) -> bool:
        return self._tokens.replace_token(refused, self.exchange)

    def exchange(self, grant: Mapping[str, str]) -> Token:
        """Trades credentials for a token. A refresh token may be sent twice: the first answer may be lost."""
        request = Request(method="POST", path=path_of("auth", "token"), body=grant)
        response = self._without_token(request, max_lost=1 if "refresh_token" in grant else None)
        answer = response.json()
        return Token(
            access_token=str(answer["access_token"]),
            expires_at=time.time() + float(answer["expires_in"]),
            refresh_token=answer.get("refresh_token"),
            session_expires_at=answer.get("session_expires_at"),
        )

    def sign_out(self, refresh_token: str) -> None:
        body = {"refresh_token": refresh_token}
        self._without_token(Request(method="POST", path=path_of("auth", "logout"), body=body))

    def _without_token(self, request: Request, max_lost: int | None = None) -> httpx.Response:
        attempt = lost = 0
        while True:
            attempt += 1
            try:
                return self._send_once(request, None)
            except GpuaasError as error:
                lost += _may_have_arrived(error)
                delay = self._retry.delay(error, attempt)
                if delay is None or (max_lost is not None and lost > max_lost):
                    raise
            time.sleep(delay)


def _may_have_arrived(error: GpuaasError) -> bool:
    """Tell whether the server may have handled the request although its answer did not arrive."""
    return not isinstance(error.__cause__, (httpx.ConnectError, httpx.ConnectTimeout)) and error.status != 429
