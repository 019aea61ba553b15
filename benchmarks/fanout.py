"""Measures how long one event takes to reach two thousand watchers, against a minimal streaming program."""

import json
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

from benchmarks import REPOSITORY
from benchmarks.claims import port_of
from benchmarks.figures import Figure, Series, Size
from benchmarks.load import request
from benchmarks.people import member_token
from benchmarks.processes import cpu_seconds, family
from benchmarks.watchers import Watchers, WatchOrder, watching
from gpuaas_agent.sim.fleet import raise_file_limit
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer, free_port

HOW = """\
Watchers of one project by server-sent events on one api process, in a process of their own with raw sockets. One change
after the other over HTTP (an access credential is created), each when all watchers have the event of the one before and
half a second has passed. Delay: from just before the request is sent to the moment at which a watcher has read the event,
so it holds the request, its commit and the wake-up. Peer: one asyncio program on uvloop that takes such an event's bytes
in a POST and writes them to as many open streams; no log, no policy, no database. Platform and peer take turns; a figure
is the median of the events, a ratio that of the pairs. CPU: api, worker and PostgreSQL together, for each event."""
PER_ROUND = 4
# All watchers are one person's here, in one project.
_MANY_STREAMS = {f"streams_per_{who}": "100000" for who in ("caller", "project", "tenant")}
PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Source:
    """A source of events: how to make one, its watchers, and the processes whose CPU time is measured."""

    name: str
    post: Callable[[], object]
    watchers: Watchers
    parent: int

    def measure(self, series: Series) -> None:
        """Milliseconds until half, nearly all and all have one event, and what it cost."""
        time.sleep(PAUSE)
        before, began = cpu_seconds(family(self.parent)), time.time()
        self.post()
        delays = [(moment - began) * 1e3 for moment in self.watchers.heard()]
        time.sleep(PAUSE / 5)  # what is still to be done when the last one has it belongs to the cost
        for name, share in (("p50", 0.5), ("p99", 0.99), ("all", 1.0)):
            series.add(f"{self.name}/{name}", delays[min(len(delays) - 1, int(len(delays) * share))])
        series.add(f"{self.name}/cpu", (cpu_seconds(family(self.parent)) - before) * 1e3)


@contextmanager
def platform(watchers: int) -> Iterator[tuple[Source, bytes]]:
    """And an event as its watchers see it."""
    with RunningServer.start(log_level="WARNING", token_minutes="60", **_MANY_STREAMS) as server:
        sandbox = Sandbox.create(server)
        token, path = member_token(sandbox), f"/api/v1/projects/{sandbox.project_id}/events"

        def post() -> object:
            return sandbox.admin.access_credentials.create(sandbox.project_id, f"bench-{secrets.token_hex(4)}")

        post()
        time.sleep(PAUSE)  # the log shows an event when every older transaction has ended
        page = json.loads(_call(port_of(server), "GET", f"{path}?tail=1", {"Authorization": f"Bearer {token}"}))
        head = request("GET", path, token).removesuffix("\r\n")
        head += f"Accept: text/event-stream\r\nLast-Event-ID: {page['next_cursor']}\r\n\r\n"
        event = page["items"][0]
        told = f"id: {event['cursor']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n"
        with watching(WatchOrder(port_of(server), head, watchers)) as found:
            yield Source("platform", post, found, server.process.pid), told.encode()


@contextmanager
def peer(watchers: int, event: bytes) -> Iterator[Source]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.streamer", str(port)], cwd=REPOSITORY)
    try:
        _wait(port)
        with watching(WatchOrder(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", watchers)) as found:
            yield Source("peer", lambda: _call(port, "POST", "/", {}, event), found, process.pid)
    finally:
        process.terminate()
        process.wait(10)


def _call(port: int, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} was answered with {answer.status}")
        return answer.read()
    finally:
        connection.close()


def _wait(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the peer did not start")


def measured(size: Size) -> Series:
    raise_file_limit(size.watchers * 2 + 4096)  # inherited by the server, its peer and the watchers
    with platform(size.watchers) as (ours, event), peer(size.watchers, event) as bare:
        for source in (ours, bare):
            source.measure(Series())  # connections and plans warm up with the first, which is not counted
        series = Series()
        for _ in range(size.rounds * PER_ROUND):
            for source in (ours, bare):
                source.measure(series)
    return series


def run(size: Size) -> list[Figure]:
    series = measured(size)
    said = f"one event to {size.watchers:,} watchers"
    figures = [
        Figure(
            f"{said}, {name}",
            series.median(f"platform/{part}"),
            "ms",
            note=f"a bare streamer {series.median(f'peer/{part}'):.1f} ms",
        )
        for name, part in (("p50", "p50"), ("p99", "p99"), ("until all have it", "all"))
    ]
    note = f"{series.median('platform/cpu'):.0f} ms against {series.median('peer/cpu'):.0f} ms"
    return [
        *figures,
        Figure(f"{said}, p99 against a bare streamer", series.ratio("platform/p99", "peer/p99"), "×"),
        Figure(f"{said}, CPU against a bare streamer", series.ratio("platform/cpu", "peer/cpu"), "×", note=note),
    ]
