# Derived from gpuaas_sdk/aio/client.py by tools/sdk-client; change that file instead.
"""The client: one connection pool, one token, and a group of calls for each noun of the platform."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeVar
from urllib.parse import urlsplit

from gpuaas_sdk.credentials import ClientCertificate, Credentials, Token, TokenStore
from gpuaas_sdk.generated.models import Event, Terminal
from gpuaas_sdk.generated.sync import CallGroups
from gpuaas_sdk.retries import RetryPolicy
from gpuaas_sdk.sync.access_credentials import AccessCredentials
from gpuaas_sdk.sync.allocations import Allocations
from gpuaas_sdk.sync.artifacts import AppVersions, Artifacts, PublishIntents
from gpuaas_sdk.sync.events import Events
from gpuaas_sdk.sync.logs import Logs
from gpuaas_sdk.sync.operations import Instances, Operations
from gpuaas_sdk.sync.source_addresses import SourceAddresses
from gpuaas_sdk.sync.ssh_access import Controller, SshAccess
from gpuaas_sdk.sync.tokens import TokenManager
from gpuaas_sdk.sync.transport import Transport, WebSocketTarget
from gpuaas_sdk.sync.wait import wait_for

Found = TypeVar("Found")


class Client(CallGroups):
    """Signs in with a token, or with credentials, which renew it. Use it in a `with` block, or close it.

    `certificate` is presented to a listener that asks for client certificates; tokens are then bound to it.
    """

    access_credentials: AccessCredentials
    allocations: Allocations
    app_versions: AppVersions
    artifacts: Artifacts
    controller: Controller
    events: Events
    instances: Instances
    logs: Logs
    operations: Operations
    publish_intents: PublishIntents
    ssh_access: SshAccess

    def __init__(
        self,
        base_url: str,
        *,
        token: str | Token | None = None,
        credentials: Credentials | None = None,
        ca_file: str | Path | None = None,
        certificate: ClientCertificate | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        user_agent: str = "gpuaas-sdk",
        on_token: Callable[[Token], None] | None = None,
        store: TokenStore | None = None,
    ) -> None:
        first = Token(token) if isinstance(token, str) else token
        self.base_url = base_url.rstrip("/")
        tokens = TokenManager(first, credentials, on_token, store)
        transport = Transport(
            self.base_url,
            tokens,
            ca_file=ca_file,
            certificate=certificate,
            timeout=timeout,
            retry=retry,
            user_agent=user_agent,
        )
        super().__init__(transport)
        self._transport = transport
        sources = SourceAddresses(urlsplit(base_url).hostname)
        self.access_credentials = AccessCredentials(transport, sources)
        self.allocations = Allocations(transport)
        self.app_versions = AppVersions(transport)
        self.artifacts = Artifacts(transport)
        self.controller = Controller(transport, sources)
        self.events = Events(transport)
        self.instances = Instances(transport)
        self.logs = Logs(transport)
        self.operations = Operations(transport)
        self.publish_intents = PublishIntents(transport)
        self.ssh_access = SshAccess(transport, sources)

    def sign_in(self, credentials: Credentials) -> Token:
        """Trades credentials for a token without using it here, for example to store it for a later client."""
        return self._transport.exchange(credentials.grant())

    def sign_out(self, refresh_token: str) -> None:
        """Ends the session of a refresh token on the server."""
        self._transport.sign_out(refresh_token)

    def watch(
        self,
        project_id: str | None,
        subject: str | None = None,
        after: str | None = None,
        deadline: float | None = None,
    ) -> Iterator[Event]:
        """Yields events as they happen, without gaps; see `Events.watch`."""
        return self.events.watch(project_id, subject=subject, after=after, deadline=deadline)

    def wait_for(self, predicate: Callable[[], Found | None], deadline: float, what: str = "the condition") -> Found:
        """Calls the predicate until it returns something true, and returns that."""
        return wait_for(predicate, deadline, what=what)

    def websocket_target(self, terminal: Terminal) -> WebSocketTarget:
        """Return how to connect to the stream of an open terminal. `gpuaas_sdk.terminal` uses it."""
        return self._transport.websocket_target(terminal.stream)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
