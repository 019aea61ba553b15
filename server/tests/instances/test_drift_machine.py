"""When the platform asks for a reconcile, as a pure function: few, with growing pauses, and never without need."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.instances import drift as machine
from gpuaas_server.instances.drift import BUDGET, WELL_FOR, DriftView, decide, end_attempt
from gpuaas_server.instances.drift_rows import (
    FIRST_PAUSE,
    WINDOW,
    Drift,
    DriftedMember,
    ObstacleDocument,
    pause_after,
)
from gpuaas_server.kernel.failures import Failure

START = datetime(2026, 1, 1, tzinfo=UTC)
GONE: DriftedMember = {"member_id": "mem_1", "component_key": "node", "code": "probe_failing", "message": "Gone."}
NO_CONTROLLER: ObstacleDocument = {"code": "silent", "message": "Nobody there.", "next_step": "Start it."}


def view(drift: Drift, *found: DriftedMember, **more: object) -> DriftView:
    return DriftView(**{"policy": "auto", "drift": drift, "found": found, **more})  # type: ignore[arg-type]


# A story: at each moment the member is well or not, a person's operation is live or not, and the controller is there or not.
MOMENTS = st.lists(
    st.tuples(
        st.integers(1, 2400),  # seconds until then
        st.booleans(),  # the member is away
        st.sampled_from(["off", "notify", "auto", "auto", "auto"]),
        st.booleans(),  # an operation of a person is live
        st.booleans(),  # the controller is withdrawn
        st.sampled_from(["succeeded", "failed"]),
        st.integers(1, 900),  # how long an attempt takes
    ),
    max_size=80,
)


@given(MOMENTS)
def test_attempts_stay_within_the_budget_and_are_made_only_when_they_may_be(moments: list[tuple]) -> None:  # type: ignore[type-arg]
    drift, now, begun = Drift(), START, list[datetime]()
    for seconds, away, policy, busy, withdrawn, outcome, lasts in moments:
        now += timedelta(seconds=seconds)
        found = (GONE,) if away else ()
        obstacle = NO_CONTROLLER if withdrawn else None
        before = view(drift, *found, policy=policy, live="op_person" if busy else None, obstacle=obstacle)
        step = decide(before, now)
        drift = Drift.of(step.drift.document())
        assert drift == step.drift, "what is kept is what was decided"
        if step.attempt:
            assert (policy, away, busy, withdrawn, before.drift.stopped) == ("auto", True, False, False, None)
            begun.append(now)
            now += timedelta(seconds=lasts)
            drift = end_attempt(replace(drift, operation_id="op_own", last_operation_id="op_own"), outcome, None, now)
        else:
            assert drift.next_attempt_at is None or drift.next_attempt_at > now
        assert all(sum(at - WINDOW < other <= at for other in begun) <= BUDGET for at in begun)


def _attempts(gap: timedelta, last: timedelta) -> tuple[list[datetime], Drift]:
    """A member that dies `gap` after each attempt, for as long as `last`: the times of all attempts."""
    drift, now, begun = Drift(), START, list[datetime]()
    while now < START + last and drift.stopped is None:
        step = decide(view(drift, GONE), now)
        drift = step.drift
        if step.attempt:
            begun.append(now)
            drift = end_attempt(replace(drift, operation_id="op_own"), "succeeded", None, now)
            drift = decide(view(drift), now).drift
            now += gap
        else:
            now = drift.next_attempt_at or now + gap
    return begun, drift


def test_what_always_dies_gets_the_budget_with_growing_pauses_and_then_stops() -> None:
    begun, drift = _attempts(timedelta(seconds=1), timedelta(days=1))
    gaps = [later - earlier for earlier, later in pairwise(begun)]
    assert len(begun) == BUDGET
    assert gaps == sorted(gaps)
    assert len(set(gaps)) == len(gaps) == BUDGET - 1
    assert drift.stopped is not None
    assert drift.stopped["message"].startswith("3 attempts in an hour did not help")
    assert decide(view(drift, GONE), START + timedelta(days=30)).attempt is False, "a person has to act"


def test_what_was_well_for_a_while_starts_again_and_a_person_starts_it_at_once() -> None:
    _, stopped = _attempts(timedelta(seconds=1), timedelta(days=1))
    now = START + timedelta(hours=2)
    well = decide(view(stopped), now).drift
    soon = decide(view(well, GONE), now + WELL_FOR - timedelta(seconds=1)).drift
    assert soon.stopped is not None
    later = decide(view(well, GONE), now + WELL_FOR).drift
    assert (later.stopped, later.streak) == (None, 0)
    assert decide(view(later, GONE), now + WELL_FOR + FIRST_PAUSE).attempt
    again = machine.restarted(stopped)
    assert decide(view(again, GONE), now).attempt, "the drift is old, so there is nothing to wait for"


@given(st.integers(1, 20))
def test_pauses_never_shrink(streak: int) -> None:
    assert pause_after(streak + 1) >= pause_after(streak) > timedelta(0)


def test_a_cancelled_attempt_and_an_app_that_cannot_stop_it_and_one_set_aside_does_not_count() -> None:
    live = replace(Drift(noticed_at=START, members=(GONE,)), attempts=(START,), streak=1, operation_id="op_1")
    cancelled = end_attempt(live, "cancelled", None, START)
    assert cancelled.stopped is not None
    unable = end_attempt(live, "failed", Failure("not_supported", "No.", "", False), START)
    assert (unable.stopped or {}).get("code") == "not_supported"
    assert end_attempt(live, "failed", Failure("no_route", "No route.", "", False), START).stopped is None
    aside = machine.set_aside(live)
    assert (aside.attempts, aside.streak, aside.operation_id, aside.stopped) == ((), 0, None, None)


@given(st.booleans(), st.booleans(), st.sampled_from(["off", "notify", "auto"]))
def test_a_decision_is_asked_for_once_and_never_while_an_operation_is_live(away: bool, busy: bool, policy: str) -> None:
    found = (GONE,) if away else ()
    first = view(Drift(), *found, policy=policy, live="op_1" if busy else None)
    assert machine.needs_decision(first) == (away and not busy and policy != "off")
    decided = decide(replace(first, live=None), START)
    assert not machine.needs_decision(view(decided.drift, *found, policy=policy)), "what was decided is not asked again"
