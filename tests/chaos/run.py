"""One run: start everything, attack it, wait until nothing moves, check, and report."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from chaos.agents import read_journal
from chaos.checker import Checker
from chaos.deployment import Deployment, new_http
from chaos.findings import Finding, table
from chaos.history import History
from chaos.nemesis import Attack, Nemesis, make_schedule
from chaos.platform import Platform, running_platform
from chaos.watchers import StreamWatcher
from chaos.witness import Witness
from gpuaas_server.embedded import postgres

QUIET_SECONDS = 120.0


@dataclass
class Report:
    seed: int
    attacks: Sequence[Attack]
    findings: list[Finding]
    summary: str

    @property
    def violated(self) -> set[str]:
        return {finding.invariant for finding in self.findings if finding.violations}

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(Counter(a.kind for a in self.attacks).items()))
        return f"seed {self.seed}: {len(self.attacks)} attacks ({kinds})\n{self.summary}\n{table(self.findings)}"


@dataclass
class Experiment:
    """The running platform with its clients and witness."""

    platform: Platform
    deployment: Deployment
    witness: Witness

    async def wait_quiet(self, seconds: float = QUIET_SECONDS) -> None:
        """Wait until nothing is in progress; the checker reports what still is after the deadline."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and await asyncio.to_thread(self._unfinished):
            await asyncio.sleep(0.5)

    def _unfinished(self) -> bool:
        (row,) = self.witness.rows(
            "SELECT (SELECT count(*) FROM allocations WHERE ended_at IS NULL)"
            " + (SELECT count(*) FROM app_operations WHERE finished_at IS NULL)"
            " + (SELECT count(*) FROM work_items WHERE lease_until IS NOT NULL OR run_at < now())"
            " + (SELECT count(*) FROM node_tasks WHERE status = 'pending') AS n"
        )
        return bool(row["n"])

    async def check(self, seed: int, attacks: Sequence[Attack]) -> Report:
        for watcher in self.deployment.watchers:
            await watcher.finish()
        tasks = [task for journal in self.deployment.journals for task in read_journal(journal)]
        checker = Checker(self.witness, self.deployment, tasks)
        findings = await asyncio.to_thread(checker.check)
        return Report(seed, attacks, findings, self.deployment.history.summary())


@asynccontextmanager
async def running_experiment(
    seed: int,
    faults: Mapping[str, Sequence[str]] | None = None,
    with_app: bool = True,
    asked_by_racks: tuple[str, str] = ("api-1", "api-2"),
) -> AsyncIterator[Experiment]:
    async with running_platform(faults or {}) as platform, new_http() as http:
        database = platform.database
        if database is None:
            raise RuntimeError("there is no database")
        witness = Witness(database.url_of("postgres", postgres.ROLE))
        witness.install()
        deployment = Deployment(platform, History(), http, seed, asked_by_racks)
        await deployment.assemble(with_app)
        yield Experiment(platform, deployment, witness)


async def run(seed: int, seconds: float, say: Callable[[str], None] = print, keep: Path | None = None) -> Report:
    """Run the whole experiment. `keep`: where the history is written, for an analysis of failures."""
    async with running_experiment(seed) as experiment:
        left_out = [] if experiment.platform.small_disk else ["fill_disk"]
        schedule = make_schedule(seed, seconds, left_out)
        say(f"chaos with seed {seed} for {seconds:.0f} s" + (f"; left out (not root): {left_out}" if left_out else ""))
        say("\n".join(str(attack) for attack in schedule))
        nemesis = Nemesis(experiment.platform, schedule)
        await _under_attack(experiment, nemesis)
        await experiment.wait_quiet()
        report = await experiment.check(seed, nemesis.done)
        effects = _effects(experiment, nemesis)
        if keep is not None:
            experiment.deployment.history.write(keep)
        pids = [
            pid for part in experiment.platform.parts.values() for pid in part.pids
        ] + experiment.platform.database_pids()
    report.findings += [effects, _left_behind(pids)]
    say(str(report))
    return report


async def _under_attack(experiment: Experiment, nemesis: Nemesis) -> None:
    deployment = experiment.deployment
    controllers = [asyncio.create_task(deployment.control(settings)) for settings in deployment.controllers]
    clients = [asyncio.create_task(tenant.run()) for tenant in deployment.tenants]
    watchers = [asyncio.create_task(watcher.run()) for watcher in deployment.watchers]
    try:
        await nemesis.run()
    except BaseException:
        for task in (*controllers, *clients, *watchers):
            task.cancel()
        raise
    finally:
        nemesis.heal()
    for stopping in (
        *(tenant.stopping for tenant in deployment.tenants),
        *(watcher.stopping for watcher in deployment.watchers),
    ):
        stopping.set()
    await asyncio.gather(*clients, *watchers)
    for project in deployment.projects:
        sweeper = next(tenant for tenant in deployment.tenants if tenant.project_id == project.id)
        await sweeper.release_all()
    await experiment.wait_quiet()
    for task in controllers:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _effects(experiment: Experiment, nemesis: Nemesis) -> Finding:
    """Check the combined effects of the attacks; `wait_for_effect` has checked that each one hit its target."""
    finding = Finding("attacks had their effect")
    for attack in nemesis.schedule:
        finding.expect(attack in nemesis.done, f"{attack} did not take place")
    (lost,) = experiment.witness.rows("SELECT count(*) AS n FROM events WHERE type = 'node.lost'")
    silent = any(attack.kind == "freeze_agents" for attack in nemesis.done)
    finding.expect(not silent or lost["n"] > 0, "hosts fell silent, and none was lost")
    for watcher in experiment.deployment.watchers:
        if isinstance(watcher, StreamWatcher):
            finding.expect(watcher.opened > 1, f"{watcher.session.name} never had to open its stream again")
    return finding


def _left_behind(pids: Sequence[int]) -> Finding:
    finding = Finding("no process left behind")
    for pid in pids:
        finding.expect(not Path(f"/proc/{pid}").exists(), f"process {pid} is still there")
    return finding
