"""One run: start everything, let the nemesis at it, wait until all is quiet, check, and say what was found."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from chaos.agents import read_journal
from chaos.cast import Cast, new_http
from chaos.checker import Checker
from chaos.findings import Finding, table
from chaos.history import History
from chaos.nemesis import Attack, Nemesis, make_schedule
from chaos.platform import Platform, running_platform
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
class Scene:
    """Everything at work, before anybody attacks it."""

    platform: Platform
    cast: Cast
    witness: Witness

    async def wait_quiet(self, seconds: float = QUIET_SECONDS) -> None:
        """Until nothing moves any more; what still does then is for the checker to say."""
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
        for watcher in self.cast.watchers:
            await watcher.finish()
        tasks = [task for journal in self.cast.journals for task in read_journal(journal)]
        checker = Checker(self.witness, self.cast, tasks)
        findings = await asyncio.to_thread(checker.check)
        return Report(seed, attacks, findings, self.cast.history.summary())


@asynccontextmanager
async def assembled(
    seed: int,
    faults: Mapping[str, Sequence[str]] | None = None,
    with_app: bool = True,
    asked_by_racks: tuple[str, str] = ("api-1", "api-2"),
) -> AsyncIterator[Scene]:
    async with running_platform(faults or {}) as platform, new_http() as http:
        database = platform.database
        if database is None:
            raise RuntimeError("there is no database")
        witness = Witness(database.url_of("postgres", postgres.ROLE))
        witness.install()
        cast = Cast(platform, History(), http, seed, asked_by_racks)
        await cast.assemble(with_app)
        yield Scene(platform, cast, witness)


async def run(seed: int, seconds: float, say: Callable[[str], None] = print, keep: Path | None = None) -> Report:
    """The whole story. `keep`: where the history is written, for a look at what went wrong."""
    async with assembled(seed) as scene:
        left_out = [] if scene.platform.small_disk else ["fill_disk"]
        schedule = make_schedule(seed, seconds, left_out)
        say(f"chaos with seed {seed} for {seconds:.0f} s" + (f"; left out (not root): {left_out}" if left_out else ""))
        say("\n".join(str(attack) for attack in schedule))
        nemesis = Nemesis(scene.platform, schedule)
        await _under_attack(scene, nemesis)
        await scene.wait_quiet()
        report = await scene.check(seed, nemesis.done)
        if keep is not None:
            scene.cast.history.write(keep)
        pids = [pid for part in scene.platform.parts.values() for pid in part.pids] + scene.platform.database_pids()
    report.findings.append(_left_behind(pids))
    say(str(report))
    return report


async def _under_attack(scene: Scene, nemesis: Nemesis) -> None:
    cast = scene.cast
    controllers = [asyncio.create_task(cast.control(settings)) for settings in cast.controllers]
    clients = [asyncio.create_task(tenant.run()) for tenant in cast.tenants]
    watchers = [asyncio.create_task(watcher.run()) for watcher in cast.watchers]
    try:
        await nemesis.run()
    finally:
        nemesis.heal()
    for stopping in (*(tenant.stopping for tenant in cast.tenants), *(watcher.stopping for watcher in cast.watchers)):
        stopping.set()
    await asyncio.gather(*clients, *watchers)
    for project in cast.projects:
        sweeper = next(tenant for tenant in cast.tenants if tenant.project_id == project.id)
        await sweeper.release_all()
    await scene.wait_quiet()
    for task in controllers:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _left_behind(pids: Sequence[int]) -> Finding:
    finding = Finding("no process left behind")
    for pid in pids:
        finding.expect(not Path(f"/proc/{pid}").exists(), f"process {pid} is still there")
    return finding
