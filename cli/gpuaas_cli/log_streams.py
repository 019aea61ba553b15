"""Follows the logs of several members at once: a thread for each, and one queue in the order in which lines arrive."""

import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuaas_sdk import Client, GpuaasError, LogLine

_WAITING = 1000  # lines: a slow terminal slows the streams down, and the platform leaves lines out


@dataclass(frozen=True, slots=True)
class Arrival:
    """A line of a member, or how many were left out."""

    member_id: str
    line: LogLine | None = None
    left_out: int = 0


def follow_all(
    client: Client,
    project_id: str,
    instance_id: str,
    members: Sequence[str],
    *,
    source: str | None,
    since: datetime | None,
    tail: int,
) -> Iterator[Arrival]:
    """Yield the lines of all members as they come. It ends when no stream is left, and raises if all of them failed."""
    arrivals: queue.Queue[Arrival | GpuaasError | None] = queue.Queue(_WAITING)

    def follow(member_id: str) -> None:
        try:
            calls = client.logs.follow(project_id, instance_id, member=member_id, source=source, since=since, tail=tail)
            for one in calls:
                if isinstance(one, LogLine):
                    arrivals.put(Arrival(member_id, one))
                else:
                    arrivals.put(Arrival(member_id, left_out=one.lines))
            arrivals.put(None)
        except GpuaasError as error:
            arrivals.put(error)

    for member_id in members:
        threading.Thread(target=follow, args=(member_id,), daemon=True).start()
    failures: list[GpuaasError] = []
    ended = 0
    while ended < len(members):
        one = arrivals.get()
        if isinstance(one, Arrival):
            yield one
            continue
        ended += 1
        if one is not None:
            failures.append(one)
    if failures:
        raise failures[0]
