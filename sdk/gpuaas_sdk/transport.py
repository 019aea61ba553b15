"""One HTTP call to the platform: token, correlation id, idempotency key, retries, typed errors."""

import ipaddress
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict
from urllib.parse import quote
from uuid import uuid4

import httpx

from gpuaas_sdk.credentials import Token, TokenKeeper
from gpuaas_sdk.errors import GpuaasError, Problem, Unreachable, error_from
from gpuaas_sdk.retries import RetryPolicy

API = "/api/v1"
QueryValue = str | int | bool | None
RENEWABLE = frozenset({"token_expired", "token_invalid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call before it is sent; every attempt carries the same idempotency key."""

    method: str
    path: str
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    content: Callable[[], Iterator[bytes]] | None = None  # bytes instead of a body; asked for afresh by each attempt
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    idempotency_key: str = field(default_factory=lambda: uuid4().hex)
    correlation_id: str = field(default_factory=lambda: uuid4().hex)

    def all_headers(self, token: str | None) -> dict[str, str]:
        headers = {"X-Correlation-ID": self.correlation_id, "Accept": "application/json"}
        if self.method != "GET":
            headers["Idempotency-Key"] = self.idempotency_key
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return {**headers, **self.headers}

    def parameters(self) -> dict[str, str | int | bool]:
        return {name: value for name, value in self.query.items() if value is not None}


def path_of(*segments: str) -> str:
    return f"{API}/" + "/".join(quote(segment, safe="") for segment in segments)


class Transport:
    def __init__(
        self,
        base_url: str,
        keeper: TokenKeeper,
        *,
        ca_file: str | Path | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        user_agent: str = "gpuaas-sdk",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._keeper = keeper
        self._timeout = timeout
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=base_url.rstrip("/"),
            timeout=timeout,
            headers={"User-Agent": user_agent},
            **verification(base_url, ca_file),
        )

    def close(self) -> None:
        self._http.close()

    def send(self, request: Request) -> httpx.Response:
        """Send until it succeeds, cannot succeed, or the attempts are used up."""
        attempt, renewed = 0, False
        while True:
            attempt += 1
            token = self._token()
            try:
                return self._once(request, token)
            except GpuaasError as error:
                if error.code in RENEWABLE and not renewed and self._replace(token):
                    renewed = True
                    continue
                delay = self._retry.delay(error, attempt)
                if delay is None:
                    raise
            self._sleep(delay)

    @contextmanager
    def stream(self, request: Request, read_timeout: float) -> Iterator[httpx.Response]:
        """An answer read while it comes; one attempt, the caller resumes."""
        token = self._token()
        timeout = httpx.Timeout(self._timeout, read=read_timeout)
        try:
            with self._open(request, token, timeout) as response:
                yield response
        except GpuaasError as error:
            if error.code in RENEWABLE:
                self._replace(token)
            raise
        except httpx.TransportError as error:
            raise unreachable(error, request, str(self._http.base_url)) from error

    def download(self, request: Request) -> Iterator[bytes]:
        """The bytes of an answer; from a bucket, when the platform sends us there. Our token does not go along."""
        with self._following(request, self._token()) as response:
            yield from response.iter_raw()

    @contextmanager
    def _following(self, request: Request, token: str | None) -> Iterator[httpx.Response]:
        headers = request.all_headers(token) | {"Accept": "*/*", "Accept-Encoding": "identity"}
        try:
            with self._http.stream(request.method, request.path, headers=headers, follow_redirects=True) as response:
                if not response.is_success:
                    response.read()
                    raise error_from(response)
                yield response
        except httpx.TransportError as error:
            raise unreachable(error, request, str(self._http.base_url)) from error

    @contextmanager
    def _open(self, request: Request, token: str | None, timeout: httpx.Timeout) -> Iterator[httpx.Response]:
        with self._http.stream(
            request.method,
            request.path,
            params=request.parameters(),
            headers=request.all_headers(token),
            timeout=timeout,
        ) as response:
            if not response.is_success:
                response.read()
                raise error_from(response)
            yield response

    def _once(self, request: Request, token: str | None) -> httpx.Response:
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
            raise unreachable(error, request, str(self._http.base_url)) from error
        if response.is_success:
            return response
        raise error_from(response)

    def _token(self) -> str | None:
        return self._keeper.current(self.exchange)

    def _replace(self, refused: str | None) -> bool:
        return self._keeper.replace(refused, self.exchange)

    def exchange(self, grant: Mapping[str, str]) -> Token:
        """Trade credentials for a token. A refresh token may be sent twice: the answer to the first may be lost."""
        request = Request(method="POST", path=path_of("auth", "token"), body=grant)
        answer = self._without_token(request, lost_at_most=1 if "refresh_token" in grant else None).json()
        return Token(
            access_token=str(answer["access_token"]),
            expires_at=time.time() + float(answer["expires_in"]),
            refresh_token=answer.get("refresh_token"),
            session_expires_at=answer.get("session_expires_at"),
        )

    def sign_out(self, refresh_token: str) -> None:
        body = {"refresh_token": refresh_token}
        self._without_token(Request(method="POST", path=path_of("auth", "logout"), body=body))

    def _without_token(self, request: Request, lost_at_most: int | None = None) -> httpx.Response:
        attempt = lost = 0
        while True:
            attempt += 1
            try:
                return self._once(request, None)
            except GpuaasError as error:
                lost += _may_have_arrived(error)
                delay = self._retry.delay(error, attempt)
                if delay is None or (lost_at_most is not None and lost > lost_at_most):
                    raise
            self._sleep(delay)


class Verification(TypedDict):
    verify: ssl.SSLContext | bool
    trust_env: bool


def verification(base_url: str, ca_file: str | Path | None) -> Verification:
    """How the server is known to be the one that is meant; refuses an address that would give the token away."""
    url = httpx.URL(base_url)
    loopback = _is_loopback(url.host)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"not a server address: {base_url!r} (expected https://host[:port])")
    if url.scheme == "http" and not loopback:
        raise ValueError("a token must not travel in clear: use https:// for a remote server")
    return {
        "verify": ssl.create_default_context(cafile=str(ca_file)) if ca_file else True,
        "trust_env": not loopback,  # a proxy for the internet does not lead to this machine
    }


def _may_have_arrived(error: GpuaasError) -> bool:
    """Whether the server may have done what was asked, though its answer did not come."""
    return not isinstance(error.__cause__, (httpx.ConnectError, httpx.ConnectTimeout)) and error.status != 429


def unreachable(error: httpx.TransportError, request: Request, address: str) -> Unreachable:
    untrusted = _untrusted(error)
    if untrusted is not None:
        detail = f"The certificate of {address} is not trusted: {untrusted}."
        next_step = "Give the platform's CA certificate (ca_file), or correct the address."
    elif isinstance(error, httpx.TimeoutException):
        detail = f"{address} did not answer in time."
        next_step = "Try again; if it repeats, check the server."
    else:
        detail = f"{address} cannot be reached: {error}."
        next_step = "Check the address, and that the server runs."
    problem = Problem(
        code="untrusted_certificate" if untrusted else "unreachable",
        status=0,
        detail=detail,
        next_step=next_step,
        retryable=untrusted is None,
        correlation_id=request.correlation_id,
    )
    return Unreachable(problem)


def _untrusted(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
