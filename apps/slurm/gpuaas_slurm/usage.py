"""Usage by project: makes records for the platform from the ended jobs in Slurm's accounting, or, without accounting, from
the lines that slurmctld writes about them.

The key of a record has the cluster, the job and its start, so sending it again adds nothing. The instance's runtime has the
position at which the next check begins: an hour before the last reported end, because the accounting lags behind.
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
from gpuaas_slurm.projects import ServedProject, accounts_of, owners_of, project_of

OVERLAP_SECONDS = 3600
FROM = "usage_from"  # in the runtime: where the next check begins, in seconds since 1970
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
class EndedJobs:
    """`more` means that later jobs were left out. `open` counts the jobs that still run, as their source knows."""

    jobs: tuple[EndedJob, ...]
    more: bool
    open: int


def parse_ended_jobs(document: object) -> EndedJobs | None:
    if not isinstance(document, Mapping) or not isinstance(document.get("jobs"), list):
        return None
    jobs = tuple(EndedJob(str(one[0]), str(one[1]), *map(int, one[2:6])) for one in document["jobs"])
    return EndedJobs(jobs, bool(document.get("more")), int(document.get("open") or 0))


def usage_position(runtime: Mapping[str, object] | None) -> int:
    """Returns where the next check begins: the position in the runtime, or the start of time."""
    position = (runtime or {}).get(FROM)
    return position if isinstance(position, int) else 0


def next_position(before: int, found: EndedJobs) -> int:
    """Returns the position after these jobs. If the answer was cut off, the next check begins at its end."""
    if not found.jobs:
        return before
    last = found.jobs[-1].ended
    return max(before, last if found.more else last - OVERLAP_SECONDS)


@dataclass(frozen=True, slots=True)
class AccountOwners:
    """The projects that own the accounts of one cluster; `home` owns all other accounts, and all jobs without accounting."""

    cluster: str
    owners: Mapping[str, str]
    home: str

    @classmethod
    def of(
        cls, cluster: str, projects: Iterable[ServedProject], runtime: Mapping[str, object] | None, *, accounting: bool
    ) -> "AccountOwners":
        accounts = accounts_of(projects)
        owners = owners_of(accounts, runtime) if accounting else {}
        return cls(cluster, owners, next(one.project_id for one in accounts if one.home))


def records(owners: AccountOwners, jobs: Sequence[EndedJob]) -> list[UsageReport]:
    return [record for job in jobs for record in _of_job(owners, job)]


def _of_job(owners: AccountOwners, job: EndedJob) -> list[UsageReport]:
    counts = (
        ("jobs", "count", 1),
        ("cpu_seconds", "second", job.cpu_seconds),
        ("gpu_seconds", "second", job.gpu_seconds),
    )
    return [
        UsageReport(
            source_key=f"{owners.cluster}/{job.number}.{job.started}/{metric}",
            project_id=project_of(job.account, owners.owners, owners.home),
            metric=metric,
            unit=unit,
            quantity=quantity,
            started_at=datetime.fromtimestamp(job.started, UTC),
            ended_at=datetime.fromtimestamp(job.ended, UTC),
            subject=f"job {job.number} of {job.account}" if job.account else f"job {job.number}",
        )
        for metric, unit, quantity in counts
        if quantity > 0
    ]


@dataclass
class ReportedUsage:
    """The records that this process knows to be recorded, so that the overlap is not sent again. It may be lost safely."""

    # By instance: the end of the job of each recorded key.
    _keys: dict[str, dict[str, int]] = field(default_factory=dict)
    _last: dict[str, Health] = field(default_factory=dict)

    def add_new(self, instance: Instance, health: Health, ended: EndedJobs, ended_since: int) -> None:
        """Adds the records that are not known to be recorded to the health report."""
        runtime = instance.runtime or {}
        name, accounting = str(runtime.get("cluster")), bool(runtime.get("accounting"))
        owners = AccountOwners.of(name, instance.projects, runtime, accounting=accounting)
        health.usage = self.find_new(instance.id, records(owners, ended.jobs), ended_since)
        self.remember(instance.id, health)

    def remember(self, instance_id: str, health: Health) -> None:
        self._last[instance_id] = health

    def find_new(self, instance_id: str, found: Sequence[UsageReport], ended_since: int) -> list[UsageReport]:
        """Returns the records that are not known to be recorded, after taking the result of the last report into account."""
        known = self._keys.setdefault(instance_id, {})
        last = self._last.pop(instance_id, None)
        if last is not None and last.usage_recorded:
            known |= {one.source_key: int(one.ended_at.timestamp()) for one in last.usage}
        self._keys[instance_id] = {key: ended for key, ended in known.items() if ended >= ended_since}
        return [one for one in found if one.source_key not in known]


async def read_ended_jobs(
    host: Host, ended_since: int, accounting: bool, seconds: float = 10.0
) -> list[EndedJob] | None:
    """Returns all jobs that ended since then. Waits until no job runs, as their source knows, for at most `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found = await query_ended_jobs(host, ended_since, accounting)
        if found is None:
            return None
        if found.open == 0 or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.3)  # the accounting lags a moment behind
    jobs = list(found.jobs)
    while found is not None and found.more:
        found = await query_ended_jobs(host, jobs[-1].ended, accounting)
        jobs += found.jobs if found is not None else ()
    return list({(one.number, one.started): one for one in jobs}.values())


async def query_ended_jobs(host: Host, ended_since: int, accounting: bool) -> EndedJobs | None:
    """Reads ended jobs over SSH, for the last check before the host is gone. None: their source does not answer."""
    source = ["accounting"] if accounting else []
    argv = ["/usr/bin/python3", "-I", layout.STATUS_PROGRAM, *source, "local"]
    result = await host.sudo(argv, check=False, stdin=f"since {ended_since}\n", timeout=READ_SECONDS)
    try:
        return parse_ended_jobs(json.loads(result.out).get("ended")) if result.ok else None
    except ValueError:
        return None
