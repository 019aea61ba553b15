"""Job-hours by project: what has ended, as Slurm's accounting has it, made into records for the platform.

A record is known by its cluster, job and beginning, so what is told again adds nothing. Where the next look begins is in
the instance's runtime: an hour before the last end that was told, since the accounting hears of an end later than it happens.
"""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gpuaas_sdk import Instance
from gpuaas_sdk.controller import Health, Host, UsageReport
from gpuaas_slurm import layout
from gpuaas_slurm.projects import Served, accounts_of, owners_of, project_of

OVERLAP_SECONDS = 3600
FROM = "usage_from"  # in the runtime: where the next look begins, in seconds since 1970
READ_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class EndedJob:
    number: str
    account: str
    started: int
    ended: int
    cpu_seconds: int
    gpu_seconds: int


@dataclass(frozen=True, slots=True)
class Ended:
    """`more`: there are others, that ended later; `open`: jobs that run as far as the accounting knows."""

    jobs: tuple[EndedJob, ...]
    more: bool
    open: int


def ended_of(told: object) -> Ended | None:
    if not isinstance(told, Mapping) or not isinstance(told.get("jobs"), list):
        return None
    jobs = tuple(EndedJob(str(one[0]), str(one[1]), *map(int, one[2:6])) for one in told["jobs"])
    return Ended(jobs, bool(told.get("more")), int(told.get("open") or 0))


def since(runtime: Mapping[str, object] | None) -> int:
    """Where to begin: where the last look has said, or at the beginning."""
    told = (runtime or {}).get(FROM)
    return told if isinstance(told, int) else 0


def next_look(before: int, found: Ended) -> int:
    """Where there is more than one answer holds, the next begins at its end."""
    if not found.jobs:
        return before
    last = found.jobs[-1].ended
    return max(before, last if found.more else last - OVERLAP_SECONDS)


@dataclass(frozen=True, slots=True)
class Books:
    """Of one cluster: its name, which project an account is, and whose the rest is."""

    cluster: str
    owners: Mapping[str, str]
    home: str

    @classmethod
    def of(cls, cluster: str, projects: Iterable[Served], runtime: Mapping[str, object] | None) -> "Books":
        accounts = accounts_of(projects)
        return cls(cluster, owners_of(accounts, runtime), next(one.project_id for one in accounts if one.home))


def records(books: Books, jobs: Sequence[EndedJob]) -> list[UsageReport]:
    return [record for job in jobs for record in _of_job(books, job)]


def _of_job(books: Books, job: EndedJob) -> list[UsageReport]:
    counts = (
        ("jobs", "count", 1),
        ("cpu_seconds", "second", job.cpu_seconds),
        ("gpu_seconds", "second", job.gpu_seconds),
    )
    return [
        UsageReport(
            source_key=f"{books.cluster}/{job.number}.{job.started}/{metric}",
            project_id=project_of(job.account, books.owners, books.home),
            metric=metric,
            unit=unit,
            quantity=quantity,
            started_at=datetime.fromtimestamp(job.started, UTC),
            ended_at=datetime.fromtimestamp(job.ended, UTC),
            subject=f"job {job.number} of {job.account}",
        )
        for metric, unit, quantity in counts
        if quantity > 0
    ]


@dataclass
class Told:
    """What this process knows to be recorded, so that an overlap is not sent at every look. Lost with it, and no harm."""

    # By instance: when what is known by the key has ended.
    _keys: dict[str, dict[str, int]] = field(default_factory=dict)
    _last: dict[str, Health] = field(default_factory=dict)

    def next(self, instance: Instance, health: Health, ended: Ended, looked_since: int) -> None:
        """What the health check has found goes with its report."""
        runtime = instance.runtime or {}
        books = Books.of(str(runtime.get("cluster")), instance.projects, runtime)
        health.usage = self.fresh(instance.id, records(books, ended.jobs), looked_since)
        self.sent(instance.id, health)

    def sent(self, instance_id: str, health: Health) -> None:
        self._last[instance_id] = health

    def fresh(self, instance_id: str, found: Sequence[UsageReport], looked_since: int) -> list[UsageReport]:
        """Those of the found that are not known to be recorded; what the last report has recorded, now is."""
        known = self._keys.setdefault(instance_id, {})
        last = self._last.pop(instance_id, None)
        if last is not None and last.usage_recorded:
            known |= {one.source_key: int(one.ended_at.timestamp()) for one in last.usage}
        self._keys[instance_id] = {key: ended for key, ended in known.items() if ended >= looked_since}
        return [one for one in found if one.source_key not in known]


async def told_at_the_end(host: Host, looked_since: int, seconds: float = 10.0) -> list[EndedJob] | None:
    """All that has ended since then, when nothing runs any more as far as the accounting knows, or after a while."""
    deadline = time.monotonic() + seconds
    while True:
        found = await ended_on(host, looked_since)
        if found is None:
            return None
        if found.open == 0 or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.3)  # the accounting hears of an end a moment after it
    jobs = list(found.jobs)
    while found is not None and found.more:
        found = await ended_on(host, jobs[-1].ended)
        jobs += found.jobs if found is not None else ()
    return list({(one.number, one.started): one for one in jobs}.values())


async def ended_on(host: Host, looked_since: int) -> Ended | None:
    """By the way into the host, for the last look before it is gone. None: the accounting does not answer."""
    argv = ["/usr/bin/python3", "-I", layout.STATUS_PROGRAM, "accounting", "local"]
    ran = await host.sudo(argv, check=False, stdin=f"since {looked_since}\n", timeout=READ_SECONDS)
    try:
        return ended_of(json.loads(ran.out).get("ended")) if ran.ok else None
    except ValueError:
        return None
