"""The attacks and their schedule, which is derived from a seed before the run, so that a run can be repeated."""

import asyncio
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos.platform import LEASE_SECONDS, NODE_LOST_SECONDS, Part, Platform, is_stopped

# `kernel.database` sets idle_in_transaction_session_timeout to 30 s: who is frozen for longer has lost its transaction.
LONG_FREEZE = 33.0
CLOCK_STEP = 20.0  # ten leases, and longer than a node may be silent
APIS, WORKERS, RACKS = ("api-1", "api-2"), ("worker-1", "worker-2"), ("rack-1", "rack-2")
DATABASE = ("database",)
EFFECT_SECONDS = 240.0  # a guard against hanging
FULL_BLOCKS = 256  # what PostgreSQL may have freed since the last block was taken


@dataclass(frozen=True, slots=True)
class Kind:
    targets: tuple[str, ...]
    seconds: tuple[float, float]  # duration


KINDS: dict[str, Kind] = {
    "kill": Kind((*APIS, *WORKERS), (0.0, 1.0)),
    "freeze_api": Kind(APIS, (1.5 * LEASE_SECONDS, 3 * LEASE_SECONDS)),
    "freeze_worker": Kind(WORKERS, (1.5 * LEASE_SECONDS, 3 * LEASE_SECONDS)),
    "freeze_long": Kind((*APIS, *WORKERS), (LONG_FREEZE, LONG_FREEZE)),
    "restart_database": Kind(DATABASE, (0.0, 1.5)),
    "kill_backend": Kind(DATABASE, (0.0, 0.0)),
    "freeze_database": Kind(DATABASE, (2.0, 6.0)),
    "fill_disk": Kind(DATABASE, (4.0, 8.0)),
    "freeze_agents": Kind(RACKS, (NODE_LOST_SECONDS + 2.0, NODE_LOST_SECONDS + 5.0)),
    "kill_agents": Kind(RACKS, (0.0, 2.0)),
    "step_clock": Kind((*APIS, *WORKERS), (3.0, 8.0)),
}
RECOVERY = {"database": 5.0, "rack-1": 3.0, "rack-2": 3.0}  # nothing new for a target that has just had something


@dataclass(frozen=True, slots=True)
class Attack:
    at: float  # seconds after the beginning
    kind: str
    target: str
    seconds: float
    amount: float = 0.0  # of a clock step

    def __str__(self) -> str:
        amount = f" by {self.amount:+.0f} s" if self.amount else ""
        return f"{self.at:6.1f} s  {self.kind} {self.target}{amount} for {self.seconds:.1f} s"


def make_schedule(seed: int, seconds: float, left_out: Sequence[str] = ()) -> list[Attack]:
    """Plan attacks: every kind in each round, long ones first, and all end before the time is over."""
    dice = random.Random(seed)
    attacks: list[Attack] = []
    free_at: dict[str, float] = {}
    at = 0.0
    while at < seconds:
        kinds = [kind for kind in KINDS if kind not in left_out]
        dice.shuffle(kinds)
        kinds.sort(key=lambda kind: KINDS[kind].seconds[1] < NODE_LOST_SECONDS)
        for kind in kinds:
            at += dice.uniform(1.0, 4.0)
            attack = _make_attack(dice, kind, at, free_at)
            if attack.at + attack.seconds <= seconds:
                free_at[attack.target] = attack.at + attack.seconds + RECOVERY.get(attack.target, 1.0)
                attacks.append(attack)
    return sorted(attacks, key=lambda attack: attack.at)


def _make_attack(dice: random.Random, kind: str, at: float, free_at: dict[str, float]) -> Attack:
    """On a target that has nothing else then; if all have, on the first that is free again, and as late."""
    targets = dice.sample(KINDS[kind].targets, len(KINDS[kind].targets))
    target = min(targets, key=lambda one: max(at, free_at.get(one, 0.0)))
    amount = dice.choice((-CLOCK_STEP, CLOCK_STEP)) if kind == "step_clock" else 0.0
    return Attack(max(at, free_at.get(target, 0.0)), kind, target, dice.uniform(*KINDS[kind].seconds), amount)


@dataclass
class Nemesis:
    platform: Platform
    schedule: list[Attack]
    done: list[Attack] = field(default_factory=list)
    _verbs: dict[str, Callable[[Attack], Awaitable[None]]] = field(default_factory=dict)
    _targets: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    def __post_init__(self) -> None:
        self._verbs = {
            "kill": self._kill,
            "freeze_api": self._freeze,
            "freeze_worker": self._freeze,
            "freeze_long": self._freeze,
            "restart_database": self._restart_database,
            "kill_backend": self._kill_backend,
            "freeze_database": self._freeze_database,
            "fill_disk": self._fill_disk,
            "freeze_agents": self._freeze,
            "kill_agents": self._kill,
            "step_clock": self._step_clock,
        }

    async def run(self) -> None:
        """Run the schedule; a long attack does not delay the next one."""
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for attack in self.schedule:
                await asyncio.sleep(max(0.0, begun + attack.at - time.monotonic()))
                group.create_task(self.strike(attack))

    async def strike(self, attack: Attack) -> None:
        """One at a time on each target: on a slow machine the effect of the one before may take longer than was planned."""
        async with self._targets[attack.target]:
            await self._verbs[attack.kind](attack)
        self.done.append(attack)

    async def _kill(self, attack: Attack) -> None:
        part = await self._living(attack.target)
        before = part.pid
        part.kept_down = True
        part.kill()
        await wait_for_effect(lambda: not Path(f"/proc/{before}").exists(), f"{part.name} survives kill -9")
        await asyncio.sleep(attack.seconds)
        part.kept_down = False
        await wait_for_effect(lambda: part.alive and part.pid != before, f"{part.name} is not started again")

    async def _freeze(self, attack: Attack) -> None:
        part = await self._living(attack.target)
        await wait_for_effect(part.freeze, f"{part.name} runs on")
        await asyncio.sleep(attack.seconds)
        part.signal(signal.SIGCONT)
        await wait_for_effect(lambda: not is_stopped(part.pid), f"{part.name} does not go on")

    async def _step_clock(self, attack: Attack) -> None:
        part = await self._living(attack.target)
        part.step_clock(attack.amount)
        await asyncio.sleep(attack.seconds)
        await wait_for_effect(
            lambda: part.has_clock_stepped(attack.amount), f"{part.name} took no time that was stepped"
        )
        part.step_clock(0.0)

    async def _living(self, name: str) -> Part:
        """The part, when it runs: what was killed a moment ago is about to be started again."""
        part = self.platform.parts[name]
        await wait_for_effect(lambda: part.alive, f"{name} is not there to be attacked")
        return part

    async def _living_database(self) -> list[int]:
        """The pids of the postmaster and of what it has started."""
        await wait_for_effect(
            lambda: len(self.platform.database_pids()) > 1, "the database is not there to be attacked"
        )
        return self.platform.database_pids()

    async def _restart_database(self, attack: Attack) -> None:
        """An immediate stop: as if the power had failed, as far as PostgreSQL is concerned."""
        postmaster, *_ = await self._living_database()
        self.platform.database_kept_down = True
        os.kill(postmaster, signal.SIGQUIT)
        await wait_for_effect(lambda: not self.platform.database_alive, "the database survives an immediate stop")
        await asyncio.sleep(attack.seconds)
        self.platform.database_kept_down = False
        await wait_for_effect(lambda: self._has_other_processes([postmaster]), "the database is not started again")

    async def _kill_backend(self, attack: Attack) -> None:
        """Kill one backend: PostgreSQL then ends all sessions and recovers."""
        _, *before = await self._living_database()
        with suppress(ProcessLookupError):
            os.kill(before[-1], signal.SIGKILL)
        await wait_for_effect(lambda: self._has_other_processes(before), "the database's sessions go on")

    def _has_other_processes(self, before: Sequence[int]) -> bool:
        now = self.platform.database_pids()
        return len(now) > 1 and not set(now) & set(before)

    async def _freeze_database(self, attack: Attack) -> None:
        await self._living_database()
        await wait_for_effect(self.platform.freeze_database, "the database runs on")
        await asyncio.sleep(attack.seconds)
        self.platform.thaw_database()
        await wait_for_effect(
            lambda: not any(map(is_stopped, self.platform.database_pids())), "the database does not go on"
        )

    async def _fill_disk(self, attack: Attack) -> None:
        ballast = self.platform.disk / "ballast"
        await asyncio.to_thread(fill_disk, ballast)
        await wait_for_effect(
            lambda: os.statvfs(self.platform.disk).f_bavail < FULL_BLOCKS, "there is room on the disk"
        )
        await asyncio.sleep(attack.seconds)
        ballast.unlink()

    def heal(self) -> None:
        for part in self.platform.parts.values():
            part.signal(signal.SIGCONT)
            part.kept_down = False
            part.step_clock(0.0)
        self.platform.thaw_database()
        self.platform.database_kept_down = False
        (self.platform.disk / "ballast").unlink(missing_ok=True)


async def wait_for_effect(look: Callable[[], bool], otherwise: str) -> None:
    """An attack that does nothing would make every run a good one. Its effect may take a moment, or long on a busy machine."""
    deadline = time.monotonic() + EFFECT_SECONDS
    while not look():
        if time.monotonic() > deadline:
            raise RuntimeError(f"an attack had no effect: {otherwise}")
        await asyncio.sleep(0.02)


def fill_disk(ballast: Path) -> None:
    """Write until there is no room: what others write meanwhile is taken from us."""
    block = bytes(1 << 20)
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(block):
            pass
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while file.write(block[:4096]):
            pass
