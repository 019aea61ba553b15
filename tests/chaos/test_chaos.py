"""The platform under attack keeps every invariant; a schedule is what its seed says."""

import os
import random

import pytest

from chaos.nemesis import KINDS, make_schedule
from chaos.run import run

SEED = int(os.environ.get("GPUAAS_CHAOS_SEED", "11"))
SECONDS = 60.0  # with the start, the rest and the checks: two minutes
LONG_SECONDS = 600.0


@pytest.mark.timeout(1200)  # for a busy machine
async def test_two_minutes_of_attacks_break_no_invariant() -> None:
    report = await run(SEED, SECONDS)
    assert report.violated == set(), str(report)
    assert {attack.kind for attack in report.attacks} >= set(KINDS) - {"fill_disk"}


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("seed", [SEED + 1, random.SystemRandom().randrange(1_000_000)], ids=["fixed", "random"])
async def test_ten_minutes_of_attacks_break_no_invariant(seed: int) -> None:
    report = await run(seed, LONG_SECONDS)
    assert report.violated == set(), str(report)


@pytest.mark.parametrize("seed", range(20))
def test_a_seed_gives_one_schedule_with_every_kind_of_attack(seed: int) -> None:
    schedule = make_schedule(seed, SECONDS)
    assert schedule == make_schedule(seed, SECONDS)
    assert {attack.kind for attack in schedule} == set(KINDS)
    assert all(attack.at + attack.seconds <= SECONDS for attack in schedule)
