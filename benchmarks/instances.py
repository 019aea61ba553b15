"""Measures reads of one instance or of a page among ten thousand instances, against a hundred."""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.claims import insist, port_of
from benchmarks.crowd import EVENTS, LEFT, MEMBERS, QUIET, Crowd, Project, crowd
from benchmarks.figures import Figure, Series, Size
from benchmarks.load import Order, drive, request
from benchmarks.processes import cpu_seconds, family

HOW = f"""\
Two real servers (api, worker, embedded PostgreSQL) on one machine: one with {QUIET} instances in one project, the other with
the same project and the rest of 10,000 in a second project of the tenant. {MEMBERS} members and {EVENTS} events an instance, so
100,000 and 1,000,000 in all, the events of all instances interleaved. One instance was deployed for real; SQL has copied
it. The same requests as a `project_member`, 4 in flight; the servers take turns. Cost: CPU time of api, worker and
PostgreSQL together, for a request, which other programs on the machine disturb less than its duration. A figure is the
cost with many over the cost with {QUIET}, each in the cheapest of its rounds, and the worse of two projects: the one that is
crowded itself, and the one that only has such a neighbour. A stream is opened with Last-Event-ID and read until the
{2 * LEFT} events after it ({LEFT} of an instance) have come; one at a time."""
LIMIT = 1.5
SECONDS = 1.0
Look = Callable[[Project], str]


@dataclass(frozen=True, slots=True)
class Stream:
    """A watch that goes on from a cursor, and how many events it has to bring."""

    path: Look
    cursor: Look
    events: int


_BASE = "/api/v1/projects/"
READS: dict[str, Look] = {
    "list": lambda p: f"{_BASE}{p.id}/instances",
    "list, from the middle, those that run": lambda p: f"{_BASE}{p.id}/instances?status=running&after={p.instance_id}",
    "show": lambda p: f"{_BASE}{p.id}/instances/{p.instance_id}",
    "members": lambda p: f"{_BASE}{p.id}/instances/{p.instance_id}/members",
    "timeline from a cursor": lambda p: f"{_BASE}{p.id}/instances/{p.instance_id}/timeline?after={p.timeline_cursor}",
    "events of a project from a cursor": lambda p: f"{_BASE}{p.id}/events?after={p.cursor}",
    "events of an instance from a cursor": lambda p: (
        f"{_BASE}{p.id}/events?subject={p.instance_id}&after={p.instance_cursor}"
    ),
}
STREAMS: dict[str, Stream] = {
    "stream of a project resumed": Stream(lambda p: f"{_BASE}{p.id}/events", lambda p: p.cursor, 2 * LEFT),
    "stream of an instance resumed": Stream(
        lambda p: f"{_BASE}{p.id}/events?subject={p.instance_id}", lambda p: p.instance_cursor, LEFT
    ),
}


def read_cost(site: Crowd, project: Project, look: Look, seconds: float) -> float:
    """Seconds of CPU a request."""
    before = _spent(site)
    text = request("GET", look(project), site.token)
    outcome = drive(Order(port_of(site.server), text, seconds, warm_up=0.0))
    insist(outcome, "200")
    return (_spent(site) - before) / sum(outcome.statuses.values())


def stream_cost(site: Crowd, project: Project, stream: Stream, seconds: float) -> float:
    """Seconds of CPU from the connection to the last of the awaited events."""
    head = request("GET", stream.path(project), site.token).removesuffix("\r\n")
    head += f"Accept: text/event-stream\r\nLast-Event-ID: {stream.cursor(project)}\r\n\r\n"
    before, deadline, count = _spent(site), time.monotonic() + seconds, 0
    while not count or time.monotonic() < deadline:
        _resume(port_of(site.server), head.encode(), stream.events)
        count += 1
    return (_spent(site) - before) / count


def _spent(site: Crowd) -> float:
    return cpu_seconds(family(site.server.process.pid))


def _resume(port: int, head: bytes, events: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        wire.sendall(head)
        received = bytearray()
        while received.count(b"\nevent: ") < events:
            data = wire.recv(262_144)
            if not data or not received.startswith(b"HTTP/1.1 200"[: len(received)]):
                raise RuntimeError(f"the stream ended: {bytes(received)[-600:]!r}")
            received += data


def measured(many: Crowd, few: Crowd, size: Size) -> Series:
    """Cost of each look in each place, one a round, in turns."""
    series = Series()
    seconds = min(size.seconds, SECONDS)
    places = [("few", few, few.quiet), ("beside", many, many.quiet), ("inside", many, many.crowded or many.quiet)]
    for _ in range(size.rounds):
        for name, look in READS.items():
            for place, site, project in places:
                series.add(f"{name}/{place}", read_cost(site, project, look, seconds))
        for name, stream in STREAMS.items():
            for place, site, project in places:
                series.add(f"{name}/{place}", stream_cost(site, project, stream, seconds))
    return series


def run(size: Size) -> list[Figure]:
    with crowd(size.instances) as many, crowd(QUIET) as few:
        series = measured(many, few, size)
    return [_figure(series, name, size) for name in (*READS, *STREAMS)]


def _figure(series: Series, name: str, size: Size) -> Figure:
    cost = {place: series.least(f"{name}/{place}") * 1e3 for place in ("inside", "beside", "few")}
    note = f"{cost['inside']:.2f} ms in the crowd, {cost['beside']:.2f} ms beside it, {cost['few']:.2f} ms without"
    title = f"{name}, {size.instances:,} instances against {QUIET}"
    return Figure(title, max(cost["inside"], cost["beside"]) / cost["few"], "×", LIMIT, at_least=False, note=note)
