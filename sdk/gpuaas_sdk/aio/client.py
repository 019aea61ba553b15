"""The client: one connection pool, one token, and the platform's nouns as attributes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from gpuaas_sdk.aio.access_credentials import AccessCredentials
from gpuaas_sdk.aio.allocations import Allocations
from gpuaas_sdk.aio.artifacts import Artifacts, PublishIntents
from gpuaas_sdk.aio.events import Events
from gpuaas_sdk.aio.keeper import TokenKeeper
from gpuaas_sdk.aio.operations import Instances, Operations
from gpuaas_sdk.aio.transport import Doorway, Transport
from gpuaas_sdk.aio.waiting import wait_for
from gpuaas_sdk.credentials import Credentials, Token, TokenStore
from gpuaas_sdk.generated.aio import Nouns
from gpuaas_sdk.generated.models import Event, Terminal
from gpuaas_sdk.retries import RetryPolicy

Found = TypeVar("Found")


class AsyncClient(Nouns):
    """With a token, or with credentials, which renew it by themselves. Use it in a `with` block, or close it."""

    access_credentials: AccessCredentials
    allocations: Allocations
    artifacts: Artifacts
    events: Events
    instances: Instances
    operations: Operations
    publish_intents: PublishIntents

    def __init__(
        self,
        base_url: str,
        *,
        token: str | Token | None = None,
        credentials: Credentials | None = None,
        ca_file: str | Path | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        user_agent: str = "gpuaas-sdk",
        on_token: Callable[[Token], None] | None = None,
        store: TokenStore | None = None,
    ) -> None:
        first = Token(token) if isinstance(token, str) else token
        self.base_url = base_url.rstrip("/")
        keeper = TokenKeeper(first, credentials, on_token, store)
        transport = Transport(
            self.base_url, keeper, ca_file=ca_file, timeout=timeout, retry=retry, user_agent=user_agent
        )
        super().__init__(transport)
        self._transport = transport
        self.access_credentials = AccessCredentials(transport)
        self.allocations = Allocations(transport)
        self.artifacts = Artifacts(transport)
        self.events = Events(transport)
        self.instances = Instances(transport)
        self.operations = Operations(transport)
        self.publish_intents = PublishIntents(transport)

    async def sign_in(self, credentials: Credentials) -> Token:
        """Trade credentials for a token without using it here; to keep it for a later client."""
        return await self._transport.exchange(credentials.grant())

    async def sign_out(self, refresh_token: str) -> None:
        """End the session of a refresh token on the server."""
        await self._transport.sign_out(refresh_token)

    def watch(
        self,
        project_id: str | None,
        subject: str | None = None,
        after: str | None = None,
        deadline: float | None = None,
    ) -> AsyncIterator[Event]:
        """Events as they happen, resumed without gaps; see `Events.watch`."""
        return self.events.watch(project_id, subject=subject, after=after, deadline=deadline)

    async def wait_for(
        self, predicate: Callable[[], Awaitable[Found | None]], deadline: float, what: str = "the condition"
    ) -> Found:
        """Ask until the predicate returns something true, and hand it back."""
        return await wait_for(predicate, deadline, what=what)

    async def doorway(self, terminal: Terminal) -> Doorway:
        """How a program of its own reaches the stream of an opened terminal; `gpuaas_sdk.terminal` does."""
        return await self._transport.doorway(terminal.stream)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
