"""The attacks, and their schedule: made from a seed before the run begins, so that a run can be had again."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos.platform import LEASE_SECONDS, NODE_LOST_SECONDS, Platform, is_stopped

# `kernel.database` sets idle_in_transaction_session_timeout to 30 s: who is frozen for longer has lost its transaction.
LONG_FREEZE = 33.0
CLOCK_STEP = 20.0  # ten leases, and longer than a node may be silent
APIS, WORKERS, RACKS = ("api-1", "api-2"), ("worker-1", "worker-2"), ("rack-1", "rack-2")
DATABASE = ("database",)
FULL_BLOCKS = 256  # what PostgreSQL may have freed since the last block was taken


@dataclass(frozen=True, slots=True)
class Kind:
    targets: tuple[str, ...]
    seconds: tuple[float, float]  # how long it lasts


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
    """Every kind comes up in each round, those that last long first, and all end before the time is over."""
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
        """All of the schedule; an attack that lasts does not hold up the next one."""
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for attack in self.schedule:
                await asyncio.sleep(max(0.0, begun + attack.at - time.monotonic()))
                group.create_task(self.strike(attack))

    async def strike(self, attack: Attack) -> None:
        await self._verbs[attack.kind](attack)
        self.done.append(attack)

    async def _kill(self, attack: Attack) -> None:
        part = self.platform.parts[attack.target]
        part.kept_down = True
        part.kill()
        await asyncio.sleep(attack.seconds)
        part.kept_down = False

    async def _freeze(self, attack: Attack) -> None:
        part = self.platform.parts[attack.target]
        part.signal(signal.SIGSTOP)
        await insist(lambda: not part.alive or is_stopped(part.pid), f"{part.name} runs on")
        await asyncio.sleep(attack.seconds)
        part.signal(signal.SIGCONT)

    async def _step_clock(self, attack: Attack) -> None:
        part = self.platform.parts[attack.target]
        part.step_clock(attack.amount)
        await asyncio.sleep(attack.seconds)
        part.step_clock(0.0)

    async def _restart_database(self, attack: Attack) -> None:
        """An immediate stop: as if the power had failed, as far as PostgreSQL is concerned."""
        self.platform.database_kept_down = True
        for pid in self.platform.database_pids()[:1]:
            os.kill(pid, signal.SIGQUIT)
        await asyncio.sleep(attack.seconds)
        self.platform.database_kept_down = False

    async def _kill_backend(self, attack: Attack) -> None:
        """PostgreSQL ends all sessions then, and recovers."""
        for pid in self.platform.database_pids()[-1:]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def _freeze_database(self, attack: Attack) -> None:
        self.platform.signal_database(signal.SIGSTOP)
        await insist(lambda: all(map(is_stopped, self.platform.database_pids())), "the database runs on")
        await asyncio.sleep(attack.seconds)
        self.platform.signal_database(signal.SIGCONT)

    async def _fill_disk(self, attack: Attack) -> None:
        ballast = self.platform.disk / "ballast"
        await asyncio.to_thread(fill_disk, ballast)
        await insist(lambda: os.statvfs(self.platform.disk).f_bavail < FULL_BLOCKS, "there is room on the disk")
        await asyncio.sleep(attack.seconds)
        ballast.unlink()

    def heal(self) -> None:
        for part in self.platform.parts.values():
            part.signal(signal.SIGCONT)
            part.kept_down = False
            part.step_clock(0.0)
        self.platform.signal_database(signal.SIGCONT)
        self.platform.database_kept_down = False
        (self.platform.disk / "ballast").unlink(missing_ok=True)


async def insist(look: Callable[[], bool], otherwise: str) -> None:
    """An attack that does nothing would make every run a good one. A signal may take a moment to arrive."""
    for _ in range(100):
        if look():
            return
        await asyncio.sleep(0.02)
    raise RuntimeError(f"an attack had no effect: {otherwise}")


def fill_disk(ballast: Path) -> None:
    """Write until there is no room: what others write meanwhile is taken from us."""
    block = bytes(1 << 20)
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(block):
            pass
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while file.write(block[:4096]):
            pass
