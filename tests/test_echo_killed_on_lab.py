"""The reference app's verbs on real hosts with kill -9 of the controller, the api, the worker, the agents, the database.

The ordinary tier kills something in every verb; the slow tier kills everything, at every step of every verb.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_echo.controller import Echo
from gpuaas_sdk.testing import CRASH_POINTS, as_replica, crashing_replica
from gpuaas_server.kernel.operation_kinds import KINDS
from system_support.echo_lab import EchoLab, at_work, echo_lab, every_verb
from system_support.victims import Victims

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
PLACE = "gpuaas_echo.controller:Echo"
VERBS = set(KINDS)  # the reference app has a handler for each kind; `every_verb` requests each


@pytest.fixture(scope="module")
def whole_ground() -> Iterator[EchoLab]:
    with echo_lab("killed", operation_lease_seconds="20") as made:
        yield made


@pytest.fixture
def lab(whole_ground: EchoLab) -> Iterator[EchoLab]:
    yield whole_ground
    whole_ground.clear()


def every_verb_with_crashes(lab: EchoLab, folder: Path, point: str) -> None:
    """Two replicas share the work. Who has it dies at this point of every step, and goes on under its name."""
    settings = lab.controller("one")
    other = as_replica(settings, "two")
    with (
        crashing_replica(PLACE, settings, folder, at=[point]) as one,
        crashing_replica(PLACE, other, folder, at=[point]) as two,
    ):
        done = every_verb(lab, f"dies-{point.replace('_', '-')}", lab.succeeds)
        crashes = [*one.crashes, *two.crashes]
    assert {one.kind for one in crashes} == VERBS == {one.kind for one in done}
    if point in ("step_started", "step_done", "step_reported"):  # once in each step
        assert len(crashes) == sum(len(one.steps) for one in done)
    if point != "ended":
        assert sum(one.attempt - 1 for one in done) == len(crashes)


def test_every_verb_does_what_it_says_with_its_controller_killed_after_the_work_of_every_step(
    lab: EchoLab, tmp_path: Path
) -> None:
    every_verb_with_crashes(lab, tmp_path, "step_done")


@pytest.mark.slow
@pytest.mark.parametrize("point", [one for one in CRASH_POINTS if one != "step_done"])
def test_every_verb_does_what_it_says_with_its_controller_killed_at_every_other_moment(
    lab: EchoLab, tmp_path: Path, point: str
) -> None:
    every_verb_with_crashes(lab, tmp_path, point)


def test_whatever_is_killed_in_each_verb_changes_nothing_but_the_time(lab: EchoLab) -> None:
    victims = Victims(lab, ["api", "worker", "agent"], once=True)
    with at_work(Echo(), lab.controller()):
        done = every_verb(lab, "victims", victims.see)
    assert {kind for kind, _ in victims.kills} == VERBS == {one.kind for one in done}


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["api", "worker", "agent", "postgres"])
def test_whatever_is_killed_at_each_change_of_each_verb_changes_nothing_but_the_time(lab: EchoLab, victim: str) -> None:
    victims = Victims(lab, [victim], once=False)
    with at_work(Echo(), lab.controller()):
        every_verb(lab, f"each-{victim}", victims.see)
    assert {kind for kind, _ in victims.kills} == VERBS


def test_another_replica_takes_over_when_the_lease_of_the_dead_one_lapses_and_meanwhile_deadlines_hold(
    lab: EchoLab, tmp_path: Path
) -> None:
    settings = lab.controller("first")
    with at_work(Echo(), settings):
        quiet, deploy = lab.deploy("quiet", [("hub", lab.places[1])], greeting="hi")
        lab.succeeds(deploy)
    with crashing_replica(PLACE, as_replica(settings, "gone"), tmp_path) as gone:
        taken, deploy = lab.deploy("taken", [("hub", lab.places[0])], greeting="hi")
        lab.sandbox.admin.wait_for(lambda: gone.crashes, 30, "the crash of the first")
    stop = lab.sandbox.admin.instances.operate(lab.project_id, quiet, "stop", deadline_seconds=30).operation
    expired = lab.ended(stop)
    assert (expired.status, expired.failure and expired.failure.code) == ("expired", "deadline_exceeded")
    assert (lab.instance(quiet).status, lab.answers(quiet)) == ("running", "hi ping")  # nobody had begun
    with at_work(Echo(), as_replica(settings, "second")):
        done = lab.succeeds(deploy)
        assert (done.replica, lab.answers(taken)) == ("second", "hi ping")
        lab.torn_down(taken)
        lab.torn_down(quiet)
