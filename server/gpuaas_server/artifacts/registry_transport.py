"""Carries requests to a registry: here the platform's own, which takes tokens that the platform signs."""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from gpuaas_server.artifacts.registry_tokens import Access
from gpuaas_server.artifacts.stores import CHUNK
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.outward import open_call

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0
ABSENT = (404, 405)  # 405: a registry without this part of the protocol

Mint = Callable[[Access], str]


class RegistryTransport(Protocol):
    def request(
        self, method: str, path: str, access: Access, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager["httpx.Response"]:
        """Yield the answer when it is a success, or says that there is no such thing. Raise a Problem for all others."""
        ...


class PlatformTransport:
    """Requests to the platform's own registry, each with a token for no more than it does."""

    def __init__(self, url: str, mint: Mint, trusted: ssl.SSLContext | None = None) -> None:
        self._url = url.rstrip("/")
        self._mint = mint
        self._trusted = trusted

    @asynccontextmanager
    async def request(
        self, method: str, path: str, access: Access, headers: Mapping[str, str]
    ) -> AsyncIterator["httpx.Response"]:
        """Yield the answer when it is a success or a 404. Any other answer counts as a registry that is unavailable."""
        headers = {**headers, "Authorization": f"Bearer {self._mint(access)}"}
        try:
            async with (
                open_call(SECONDS, trusted=self._trusted, follow_redirects=True) as client,
                client.stream(method, f"{self._url}{path}", headers=headers) as answer,
            ):
                if answer.status_code not in ABSENT and not answer.is_success:
                    raise Problem("registry_unavailable", f"The registry answered {answer.status_code}.")
                yield answer
        except OSError as error:
            raise Problem("registry_unavailable", "The registry cannot be reached.") from error


async def limited(answer: "httpx.Response", limit: int) -> bytes:
    """Read the body, if it has no more than so many bytes."""
    content = bytearray()
    async for chunk in answer.aiter_raw(CHUNK):
        content += chunk
        if len(content) > limit:
            raise Problem("artifact_invalid", f"An answer of the registry has more than {limit} bytes.")
    return bytes(content)
