"""The client: one connection pool, one token, and the platform's nouns as attributes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from gpuaas_sdk.access import PlatformKeys, SshAccess, SshKeys
from gpuaas_sdk.access_credentials import AccessCredentials, SecretKeys
from gpuaas_sdk.allocations import Allocations
from gpuaas_sdk.artifacts import Artifacts, PublishIntents, Trust
from gpuaas_sdk.audit import Audit
from gpuaas_sdk.capacity import Quotas, Skus, Slots
from gpuaas_sdk.catalog import Apps, AppVersions, Catalog, Entitlements
from gpuaas_sdk.credentials import Credentials, Token, TokenKeeper, TokenStore
from gpuaas_sdk.events import Event, Events
from gpuaas_sdk.identity import Myself, SigningKeys, Tenants, Users
from gpuaas_sdk.instances import Instances
from gpuaas_sdk.nodes import EnrolmentTokens, Nodes
from gpuaas_sdk.operations import ControllerWork, Operations
from gpuaas_sdk.projects import Projects, ServiceAccounts
from gpuaas_sdk.receipts import Receipts
from gpuaas_sdk.retries import RetryPolicy
from gpuaas_sdk.transport import Transport
from gpuaas_sdk.waiting import wait_for

Found = TypeVar("Found")


class Client:
    """`Client(url, token=…)`, or with credentials, which renew the token by themselves."""

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
        self._transport = Transport(
            self.base_url,
            TokenKeeper(first, credentials, on_token, store),
            ca_file=ca_file,
            timeout=timeout,
            retry=retry,
            user_agent=user_agent,
        )
        self._nouns()

    def _nouns(self) -> None:
        transport = self._transport
        self.me = Myself(transport)
        self.signing_keys = SigningKeys(transport)
        self.platform_keys = PlatformKeys(transport)
        self.tenants = Tenants(transport)
        self.users = Users(transport)
        self.projects = Projects(transport)
        self.service_accounts = ServiceAccounts(transport)
        self.enrolment_tokens = EnrolmentTokens(transport)
        self.nodes = Nodes(transport)
        self.slots = Slots(transport)
        self.skus = Skus(transport)
        self.quotas = Quotas(transport)
        self.allocations = Allocations(transport)
        self.artifacts = Artifacts(transport)
        self.publish_intents = PublishIntents(transport)
        self.trust = Trust(transport)
        self.instances = Instances(transport)
        self.operations = Operations(transport)
        self.controller = ControllerWork(transport)
        self.receipts = Receipts(transport)
        self.ssh_keys = SshKeys(transport)
        self.ssh_access = SshAccess(transport)
        self.access_credentials = AccessCredentials(transport)
        self.secret_keys = SecretKeys(transport)
        self.events = Events(transport)
        self.audit = Audit(transport)
        self.apps = Apps(transport)
        self.app_versions = AppVersions(transport)
        self.catalog = Catalog(transport)
        self.entitlements = Entitlements(transport)

    def sign_in(self, credentials: Credentials) -> Token:
        """Trade credentials for a token without using it here; to keep it for a later client."""
        return self._transport.exchange(credentials.grant())

    def sign_out(self, refresh_token: str) -> None:
        """End the session of a refresh token on the server."""
        self._transport.sign_out(refresh_token)

    def watch(
        self,
        project_id: str | None,
        subject: str | None = None,
        after: str | None = None,
        deadline: float | None = None,
    ) -> Iterator[Event]:
        """Events as they happen, resumed without gaps; see `Events.watch`."""
        return self.events.watch(project_id, subject=subject, after=after, deadline=deadline)

    def wait_for(self, predicate: Callable[[], Found | None], deadline: float, what: str = "the condition") -> Found:
        """Ask until the predicate returns something true, and hand it back."""
        return wait_for(predicate, deadline, what=what)

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
