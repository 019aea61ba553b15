"""The two WebSocket endpoints of a terminal, on a server with simulated hosts, which have no shell and say so."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from gpuaas_sdk import Client, NewAllocation, PasswordCredentials, Terminal
from gpuaas_sdk.terminal import TerminalStream
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer

SECONDS = 60.0  # a guard against hanging


@dataclass
class Site:
    sandbox: Sandbox
    allocation_id: str

    def open(self, client: Client | None = None) -> Terminal:
        return (client or self.sandbox.admin).terminals.open(self.sandbox.project_id, self.allocation_id)

    @contextmanager
    def connected(self, path: str, **headers: str) -> Iterator[ClientConnection]:
        url = self.sandbox.server.url.replace("http", "ws") + path
        with connect(url, additional_headers=headers, compression=None, proxy=None, open_timeout=SECONDS) as connection:
            yield connection

    def refusal(self, path: str, **headers: str) -> tuple[int, str]:
        """Before it opens, with a problem document."""
        with pytest.raises(InvalidStatus) as refused, self.connected(path, **headers):
            pass
        answer = refused.value.response
        assert answer.headers["content-type"] == "application/problem+json"
        return answer.status_code, str(json.loads(answer.body or b"{}")["code"])


@pytest.fixture(scope="module")
def site(server: RunningServer) -> Iterator[Site]:
    sandbox = Sandbox.create(server)
    sandbox.offer()
    with sandbox.simulated_fleet(1):
        made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-slice", gpu_count=1))[0]
        list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 60.0))
        yield Site(sandbox, made.id)


def test_a_simulated_host_refuses_with_a_sentence(site: Site) -> None:
    with TerminalStream(site.sandbox.admin, site.open()) as stream:
        assert stream.receive(SECONDS) is None
    assert stream.end is not None
    assert (stream.end.reason, stream.end.exit_status) == ("not_opened", None)
    assert stream.end.message == "A simulated host has no shell (terminal_not_offered)."


def test_an_unauthenticated_caller_is_refused_with_a_reason_before_the_stream_opens(site: Site) -> None:
    path = site.open().stream
    assert site.refusal(path) == (401, "unauthenticated")
    assert site.refusal(path, Authorization="Bearer nonsense") == (401, "token_invalid")
    for role, expected in (
        ("project_viewer", (403, "forbidden")),
        ("platform_operator", (403, "forbidden")),
        ("project_admin", (403, "forbidden")),  # who may open one, and did not open this one
    ):
        assert site.refusal(path, Authorization=f"Bearer {site.sandbox.bearer(role)}") == expected
    elsewhere = Sandbox.create(site.sandbox.server).bearer("project_admin")
    assert site.refusal(path, Authorization=f"Bearer {elsewhere}") == (404, "not_found")
    nowhere = path.replace("trm_0", "trm_1")
    own = site.sandbox.bearer("project_admin")
    assert site.refusal(nowhere, Authorization=f"Bearer {own}") == (404, "not_found")


def test_a_cookie_opens_the_stream_from_our_own_pages_only(site: Site) -> None:
    sandbox, credentials = site.sandbox, site.sandbox.credentials("project_admin")
    cookie = signed_in(sandbox.server.url, credentials)
    terminal = site.open(Client(sandbox.server.url, credentials=credentials))
    assert site.refusal(terminal.stream, Cookie=cookie) == (403, "origin_refused")
    assert site.refusal(terminal.stream, Cookie=cookie, Origin="https://evil.example") == (403, "origin_refused")
    with site.connected(terminal.stream, Cookie=cookie, Origin=sandbox.server.url) as socket:
        told = json.loads(socket.recv(SECONDS))
    assert (told["type"], told["reason"]) == ("ended", "not_opened")


def signed_in(url: str, credentials: PasswordCredentials) -> str:
    body = {"grant_type": "password", "username": credentials.username, "password": credentials.password}
    answer = httpx.post(f"{url}/api/v1/auth/session", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return f"gpuaas_session={answer.cookies['gpuaas_session']}"


def test_only_the_node_of_the_allocation_brings_the_hosts_stream(site: Site) -> None:
    path = f"/api/v1/agent/terminals/{site.open().id}/stream"
    assert site.refusal(path) == (401, "agent_signature_invalid")
    own = site.sandbox.bearer("platform_admin")
    assert site.refusal(path, Authorization=f"Bearer {own}") == (401, "agent_signature_invalid")
