"""The same calls from an event loop: `await client.ask(lambda c: c.operations.show(project, operation))`.

A call of the SDK only makes requests and reads answers; it holds no thread. So it is run once to learn its next request,
which is sent asynchronously, and again with the answers so far, until it has all it needs: one definition of each call.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import httpx

from gpuaas_sdk.client import Client
from gpuaas_sdk.credentials import Credentials, TokenKeeper
from gpuaas_sdk.errors import GpuaasError, error_from
from gpuaas_sdk.retries import RetryPolicy
from gpuaas_sdk.transport import RENEWABLE, Request, Transport, unreachable, verification

Answer = TypeVar("Answer")


class _Wanted(BaseException):
    """The request whose answer a call needs to go on. Not an Exception, so that no call catches it by accident."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.path)
        self.request = request


class _Rehearsed(Transport):
    """Hands out the answers that are there; for the next one it raises the request."""

    def __init__(self, answers: list[httpx.Response]) -> None:
        self._answers = iter(answers)

    def send(self, request: Request) -> httpx.Response:
        answer = next(self._answers, None)
        if answer is None:
            raise _Wanted(request)
        return answer


class _RehearsedClient(Client):
    def __init__(self, answers: list[httpx.Response]) -> None:
        self._transport = _Rehearsed(answers)
        self._nouns()


class AsyncClient:
    """`async with AsyncClient(url, credentials=…) as client:`"""

    def __init__(
        self,
        base_url: str,
        *,
        credentials: Credentials,
        ca_file: str | Path | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        user_agent: str = "gpuaas-sdk",
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._keeper = TokenKeeper(None, credentials)
        self._tokens = Transport(self.base_url, self._keeper, ca_file=ca_file, timeout=timeout, user_agent=user_agent)
        self._retry = retry or RetryPolicy()
        self._timeout = timeout
        self._http = httpx.AsyncClient(
            base_url=self.base_url,
            timeout=timeout,
            headers={"User-Agent": user_agent},
            **verification(base_url, ca_file),
        )

    async def ask(self, call: Callable[[Client], Answer], *, wait: float = 0.0) -> Answer:
        """What the call returns. `wait`: seconds that the server may hold its answer back (a long poll)."""
        answers: list[httpx.Response] = []
        while True:
            try:
                return call(_RehearsedClient(answers))
            except _Wanted as wanted:
                answers.append(await self._send(wanted.request, wait))

    async def close(self) -> None:
        await self._http.aclose()
        self._tokens.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, request: Request, wait: float) -> httpx.Response:
        """As the other transport: until it succeeds, cannot succeed, or the attempts are used up."""
        attempt, renewed = 0, False
        while True:
            attempt += 1
            token = await self._token()
            try:
                return await self._once(request, token, wait)
            except GpuaasError as error:
                if error.code in RENEWABLE and not renewed:
                    renewed = await asyncio.to_thread(self._keeper.replace, token, self._tokens.exchange)
                    if renewed:
                        continue
                delay = self._retry.delay(error, attempt)
                if delay is None:
                    raise
            await asyncio.sleep(delay)

    async def _token(self) -> str | None:
        fresh = self._keeper.fresh(time.time())
        return fresh or await asyncio.to_thread(self._keeper.current, self._tokens.exchange)

    async def _once(self, request: Request, token: str | None, wait: float) -> httpx.Response:
        try:
            response = await self._http.request(
                request.method,
                request.path,
                params=request.parameters(),
                json=request.body,
                headers=request.all_headers(token),
                timeout=(request.timeout or self._timeout) + wait,
            )
        except httpx.TransportError as error:
            raise unreachable(error, request, self.base_url) from error
        if response.is_success:
            return response
        raise error_from(response)
