"""The reference app's verbs on real hosts with kill -9 of the controller, the api, the worker, the agents, the database.

The ordinary tier kills something in every verb; the slow tier kills everything, at every step of every verb.
"""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_echo.controller import Echo
from gpuaas_sdk import Operation
from gpuaas_sdk.errors import ServerFailed, Unreachable
from gpuaas_sdk.testing import CRASH_POINTS, as_replica, crashing_replica
from system_support.echo_ground import Ground, at_work, echo_ground, every_verb

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
PLACE = "gpuaas_echo.controller:Echo"
VERBS = {
    *("deploy", "add", "drain", "recover", "replace", "upgrade", "rollback", "restart"),
    *("reconcile", "repair", "stop", "start", "remove", "decommission"),
}


@pytest.fixture(scope="module")
def whole_ground() -> Iterator[Ground]:
    with echo_ground("killed", operation_lease_seconds="20") as made:
        yield made


@pytest.fixture
def ground(whole_ground: Ground) -> Iterator[Ground]:
    yield whole_ground
    whole_ground.clear()


def every_verb_with_crashes(ground: Ground, folder: Path, point: str) -> None:
    """Two replicas share the work. Who has it dies at this point of every step, and goes on under its name."""
    settings = ground.controller("one")
    other = as_replica(settings, "two")
    with (
        crashing_replica(PLACE, settings, folder, at=[point]) as one,
        crashing_replica(PLACE, other, folder, at=[point]) as two,
    ):
        done = every_verb(ground, f"dies-{point}", ground.succeeds)
        crashes = [*one.crashes, *two.crashes]
    assert {one.kind for one in crashes} == VERBS == {one.kind for one in done}
    if point in ("step_started", "step_done", "step_reported"):  # once in each step
        assert len(crashes) == sum(len(one.steps) for one in done)
    if point != "ended":
        assert sum(one.attempt - 1 for one in done) == len(crashes)


def test_every_verb_does_what_it_says_with_its_controller_killed_after_the_work_of_every_step(
    ground: Ground, tmp_path: Path
) -> None:
    every_verb_with_crashes(ground, tmp_path, "step_done")


@pytest.mark.slow
@pytest.mark.parametrize("point", [one for one in CRASH_POINTS if one != "step_done"])
def test_every_verb_does_what_it_says_with_its_controller_killed_at_every_other_moment(
    ground: Ground, tmp_path: Path, point: str
) -> None:
    every_verb_with_crashes(ground, tmp_path, point)


class Victims:
    """Sees operations to their end, and kills meanwhile: at the first sign of each (`once`), or at each change."""

    def __init__(self, ground: Ground, victims: list[str], *, once: bool) -> None:
        self._ground, self._victims, self._once = ground, itertools.cycle(victims), once
        self.kills: list[tuple[str, str]] = []

    def see(self, operation: Operation) -> Operation:
        victim = next(self._victims)
        seen: set[object] = set()
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            now = self._look(operation)
            if now is not None and not now.live:
                return now
            signs = _signs(now) if now is not None else set()
            if signs - seen and not (seen and self._once):
                self._ground.kill(victim)
                self.kills.append((now.kind if now else "", victim))
            seen |= signs
            time.sleep(0.02)
        raise AssertionError(f"{operation.kind} did not end: {now}")

    def _look(self, operation: Operation) -> Operation | None:
        try:
            return self._ground.world.admin.operations.show(self._ground.project_id, operation.id)
        except (Unreachable, ServerFailed):
            return None


def _signs(now: Operation) -> set[object]:
    return {(one.name, one.member_id, one.status) for one in now.steps} | ({now.phase} if now.phase else set())


def test_whatever_is_killed_in_each_verb_changes_nothing_but_the_time(ground: Ground) -> None:
    victims = Victims(ground, ["api", "worker", "agent"], once=True)
    with at_work(Echo(), ground.controller()):
        done = every_verb(ground, "victims", victims.see)
    assert {kind for kind, _ in victims.kills} == VERBS == {one.kind for one in done}


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["api", "worker", "agent", "postgres"])
def test_whatever_is_killed_at_each_change_of_each_verb_changes_nothing_but_the_time(
    ground: Ground, victim: str
) -> None:
    victims = Victims(ground, [victim], once=False)
    with at_work(Echo(), ground.controller()):
        every_verb(ground, f"each-{victim}", victims.see)
    assert {kind for kind, _ in victims.kills} == VERBS


def test_another_replica_takes_over_when_the_lease_of_the_dead_one_lapses_and_meanwhile_deadlines_hold(
    ground: Ground, tmp_path: Path
) -> None:
    settings = ground.controller("first")
    with at_work(Echo(), settings):
        quiet, deploy = ground.deploy("quiet", [("hub", ground.places[1])], greeting="hi")
        ground.succeeds(deploy)
    with crashing_replica(PLACE, as_replica(settings, "gone"), tmp_path) as gone:
        taken, deploy = ground.deploy("taken", [("hub", ground.places[0])], greeting="hi")
        ground.world.admin.wait_for(lambda: gone.crashes, 30, "the crash of the first")
    stop = ground.world.admin.instances.operate(ground.project_id, quiet, "stop", deadline_seconds=30).operation
    expired = ground.ended(stop)
    assert (expired.status, expired.failure and expired.failure.code) == ("expired", "deadline_exceeded")
    assert (ground.instance(quiet).status, ground.answers(quiet)) == ("running", "hi ping")  # nobody had begun
    with at_work(Echo(), as_replica(settings, "second")):
        done = ground.succeeds(deploy)
        assert (done.replica, ground.answers(taken)) == ("second", "hi ping")
        ground.torn_down(taken)
        ground.torn_down(quiet)
