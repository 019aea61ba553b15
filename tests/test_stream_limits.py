"""Limits of streams per caller, project and tenant, over real connections that open, close and are cut."""

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http import HTTPStatus

import httpx
import pytest

from gpuaas_sdk.testing import Sandbox
from system_support.ledger import until
from system_support.raw_http import HANG_SECONDS, Answer, Place, read_answer, request
from system_support.server import RunningServer

CALLER, PROJECT, TENANT = 3, 5, 7
LONG_WAIT = 60


@dataclass(frozen=True)
class Watch:
    """A stream that was opened, and its connection."""

    connection: socket.socket

    def close(self) -> None:
        self.connection.close()

    def cut(self) -> None:
        """A reset instead of an orderly end: what others see of a program that was killed."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


@dataclass
class Site:
    server: RunningServer
    sandbox: Sandbox
    stack: ExitStack

    @property
    def place(self) -> Place:
        return Place(int(self.server.url.rpartition(":")[2]))

    def sibling(self) -> Sandbox:
        """Another project of the same tenant."""
        count = len(list(self.sandbox.admin.projects.list(self.sandbox.tenant_id)))
        project = self.sandbox.admin.projects.create(self.sandbox.tenant_id, f"more-{count}", "More")
        return replace(self.sandbox, project_id=project.id)

    def open_watch(self, sandbox: Sandbox, token: str) -> Watch | Answer:
        """The stream when it was let in, or the refusal."""
        connection = socket.create_connection(("127.0.0.1", self.place.port), HANG_SECONDS)
        self.stack.callback(connection.close)
        path = f"/api/v1/projects/{sandbox.project_id}/events"
        connection.sendall(request(path, Authorization=f"Bearer {token}", Accept="text/event-stream"))
        begin = b""
        while b"\r\n\r\n" not in begin:
            begin += connection.recv(1)
        status = int(begin.split(b" ", 2)[1])
        if status == HTTPStatus.OK:
            return Watch(connection)
        length = int(re.search(rb"content-length: (\d+)", begin, re.IGNORECASE)[1])  # type: ignore[index]
        headers = dict(line.split(": ", 1) for line in begin.decode().strip().split("\r\n")[1:])
        body = b""
        while len(body) < length:
            body += connection.recv(length - len(body))
        return Answer(status, {name.lower(): value for name, value in headers.items()}, body)

    def metric(self, line: str) -> float:
        with self.place.connect() as connection:
            connection.sendall(request("/metrics"))
            text = read_answer(connection).body.decode()
        found = re.search(rf"^{re.escape(line)} ([0-9.]+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def open_streams(self) -> float:
        return self.metric('gpuaas_streams{kind="watch"}') + self.metric('gpuaas_streams{kind="long_poll"}')


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    limits = {"streams_per_caller": CALLER, "streams_per_project": PROJECT, "streams_per_tenant": TENANT}
    settings = {name: str(limit) for name, limit in limits.items()}
    with RunningServer.start(**settings, login_rate_per_minute="100000") as running:
        yield running


@pytest.fixture
def site(server: RunningServer) -> Iterator[Site]:
    with ExitStack() as stack:
        made = Site(server, Sandbox.create(server), stack)
        yield made
    until(lambda: made.open_streams() == 0, "the end of all streams")


def opened(answer: Watch | Answer) -> Watch:
    assert isinstance(answer, Watch), answer
    return answer


def refused(answer: Watch | Answer) -> str:
    """The limit that the refusal names."""
    assert isinstance(answer, Answer)
    assert (answer.status, answer.code) == (429, "too_many_streams")
    assert int(answer.headers["retry-after"]) > 0
    found = re.search(rb'"limit": ?"(\w+)"', answer.body)
    assert found is not None, answer.body
    return found[1].decode()


def test_each_limit_is_kept_by_real_connections_and_others_are_let_in(site: Site) -> None:
    sandbox, other = site.sandbox, site.sibling()
    ann, ben = (sandbox.bearer("project_viewer") for _ in range(2))
    cid, dora, eve = (other.bearer("project_viewer") for _ in range(3))
    for _ in range(CALLER):
        opened(site.open_watch(sandbox, ann))
    assert refused(site.open_watch(sandbox, ann)) == "caller"
    for _ in range(PROJECT - CALLER):
        opened(site.open_watch(sandbox, ben))
    assert refused(site.open_watch(sandbox, ben)) == "project"
    for token in (cid, dora):
        opened(site.open_watch(other, token))
    assert refused(site.open_watch(other, eve)) == "tenant"
    stranger = Sandbox.create(site.server)
    opened(site.open_watch(stranger, stranger.bearer("project_viewer")))
    assert site.open_streams() == TENANT + 1
    page = httpx.get(
        f"{site.server.url}/api/v1/projects/{sandbox.project_id}/events",
        headers={"Authorization": f"Bearer {ann}"},
        timeout=60,
    )
    assert page.status_code == 200, "an ordinary read is no stream"


def test_the_quota_of_a_project_is_kept_by_real_connections(site: Site) -> None:
    sandbox, other = site.sandbox, site.sibling()
    ann, ben = sandbox.bearer("project_viewer"), other.bearer("project_viewer")
    opened(site.open_watch(sandbox, ann))
    opened(site.open_watch(sandbox, ann))
    site.sandbox.admin.quotas.set_project(sandbox.project_id, None, stream_limit=1)
    answer = site.open_watch(sandbox, ann)
    assert refused(answer) == "project"
    assert isinstance(answer, Answer)
    assert b"A tenant_admin can raise it." in answer.body
    opened(site.open_watch(other, ben))


@pytest.mark.parametrize("end", ["close", "cut"])
def test_a_connection_that_ends_makes_room_for_the_next(site: Site, end: str) -> None:
    token = site.sandbox.bearer("project_viewer")
    watches = [opened(site.open_watch(site.sandbox, token)) for _ in range(CALLER)]
    assert refused(site.open_watch(site.sandbox, token)) == "caller"
    getattr(watches[0], end)()
    until(lambda: isinstance(site.open_watch(site.sandbox, token), Watch), "room for another")
    assert refused(site.open_watch(site.sandbox, token)) == "caller"


def test_watches_and_long_polls_share_the_limit_and_a_refusal_is_counted(site: Site) -> None:
    token = site.sandbox.bearer("project_viewer")
    before = site.metric('gpuaas_streams_refused_total{limit="caller"}')
    path = f"/api/v1/projects/{site.sandbox.project_id}/events"
    with httpx.Client(base_url=site.server.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        tail = client.get(path, params={"tail": 0}).json()["next_cursor"]
        polls = [socket.create_connection(("127.0.0.1", site.place.port), HANG_SECONDS) for _ in range(CALLER)]
        for poll in polls:
            site.stack.callback(poll.close)
            poll.sendall(request(f"{path}?after={tail}&wait={LONG_WAIT}", Authorization=f"Bearer {token}"))
        until(lambda: site.metric('gpuaas_streams{kind="long_poll"}') == CALLER, "all long polls")
        assert refused(site.open_watch(site.sandbox, token)) == "caller"
        again = client.get(path, params={"after": tail, "wait": LONG_WAIT})
        assert again.json()["code"] == "too_many_streams"
        for poll in polls:
            poll.close()
        until(
            lambda: isinstance(site.open_watch(site.sandbox, token), Watch), "room, long before the polls would end", 30
        )
    assert site.metric('gpuaas_streams_refused_total{limit="caller"}') >= before + 2


def test_an_event_reaches_every_watch_that_was_let_in(site: Site) -> None:
    token = site.sandbox.bearer("project_viewer")
    watches = [opened(site.open_watch(site.sandbox, token)) for _ in range(CALLER)]
    site.sandbox.admin.projects.update(site.sandbox.project_id, name="Renamed")
    for watch in watches:
        seen = b""
        while b"event: project.updated" not in seen:
            more = watch.connection.recv(4096)
            assert more, seen
            seen += more
