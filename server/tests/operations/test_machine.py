"""The operation machine as a pure function: legal transitions, a deadline everywhere, and that every path ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.kernel.operation_kinds import INSTANCE_KINDS, MEMBER_KINDS
from gpuaas_server.operations.machine import (
    LIVE,
    TRANSITIONS,
    VERIFYING,
    Evidence,
    Snapshot,
    Step,
    decide,
    decide_bulk,
)
from gpuaas_server.work.reconcilers import Wait

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def snapshot(**given: object) -> Snapshot:
    base = Snapshot("op_1", "deploy", "instance", "pending", None, 0, None, LATER, False, most_attempts=10)
    return replace(base, **given)  # type: ignore[arg-type]


def leased(**given: object) -> Snapshot:
    return snapshot(**{"status": "running", "attempt": 1, "lease_until": NOW + timedelta(seconds=30), **given})


def test_an_operation_that_is_not_claimed_expires_at_its_deadline() -> None:
    assert decide(snapshot(), NOW) == Wait(LATER)
    step = decide(snapshot(), LATER)
    assert isinstance(step, Step)
    assert step.failure is not None
    assert (step.status, step.failure.code) == ("expired", "deadline_exceeded")


def test_a_lease_that_lapses_offers_the_work_again() -> None:
    assert decide(leased(), NOW) == Wait(NOW + timedelta(seconds=30))
    assert decide(leased(), NOW + timedelta(seconds=30)) == Step("pending")


def test_a_lease_is_not_waited_for_beyond_the_deadline() -> None:
    soon = NOW + timedelta(seconds=10)
    assert decide(leased(deadline_at=soon), NOW) == Wait(soon)
    step = decide(leased(deadline_at=soon), soon)
    assert isinstance(step, Step)
    assert step.status == "expired"


def test_controllers_that_vanish_again_and_again_are_not_tried_for_ever() -> None:
    step = decide(leased(attempt=10), LATER - timedelta(minutes=1))
    assert isinstance(step, Step)
    assert step.failure is not None
    assert (step.status, step.failure.code) == ("failed", "controller_lost")


def test_a_teardown_ends_by_what_the_hosts_say() -> None:
    verifying = snapshot(kind="stop", status="running", phase=VERIFYING, attempt=1)
    assert decide(replace(verifying, evidence=Evidence(waiting=True)), NOW) == Wait(LATER)
    assert decide(replace(verifying, evidence=Evidence()), NOW) == Step("succeeded")
    away = "host_unreachable (on alc_1)"
    step = decide(replace(verifying, evidence=Evidence(left=[away, away])), NOW)
    assert isinstance(step, Step)
    assert step.failure is not None
    assert step.failure.message == f"Not proven to be gone: {away}.", "once, and nothing is said to be left"
    for evidence, clock in ((Evidence(left=["units: echo.service"]), NOW), (Evidence(waiting=True), LATER)):
        step = decide(replace(verifying, evidence=evidence), clock)
        assert isinstance(step, Step)
        assert step.failure is not None
        assert (step.status, step.failure.code) == ("failed", "teardown_incomplete")


@given(
    status=st.sampled_from(sorted(TRANSITIONS)),
    kind=st.sampled_from(INSTANCE_KINDS + MEMBER_KINDS),
    target=st.sampled_from(["instance", "member", "bulk"]),
    phase=st.sampled_from([None, VERIFYING]),
    attempt=st.integers(0, 12),
    lease=st.one_of(st.none(), st.integers(-100, 100)),
    deadline=st.integers(-100, 100),
    cancel=st.booleans(),
    evidence=st.one_of(st.none(), st.builds(Evidence, st.booleans(), st.lists(st.text(max_size=3), max_size=3))),
)
def test_every_step_is_legal_and_every_wait_of_a_live_operation_has_an_end(
    status: str,
    kind: str,
    target: str,
    phase: str | None,
    attempt: int,
    lease: int | None,
    deadline: int,
    cancel: bool,
    evidence: Evidence | None,
) -> None:
    until = None if lease is None else NOW + timedelta(seconds=lease)
    by = NOW + timedelta(seconds=deadline)
    now = Snapshot("op", kind, target, status, phase, attempt, until, by, cancel, most_attempts=10, evidence=evidence)
    step = decide(now, NOW)
    if isinstance(step, Step):
        assert step.status in TRANSITIONS[status] or (status == "pending" and phase == VERIFYING)
        assert (step.failure is None) == (step.status in ("succeeded", "pending"))
    elif status in LIVE and target != "bulk":
        assert step.until is not None
        assert step.until > NOW


@given(
    st.lists(st.tuples(st.sampled_from(sorted(TRANSITIONS)), st.booleans()), min_size=2, max_size=6),
    st.sampled_from(["continue", "stop"]),
)
def test_a_bulk_ends_exactly_when_all_its_children_have(states: list[tuple[str, bool]], on_failure: str) -> None:
    children = [(f"op_{n}", status, deferred and status == "pending") for n, (status, deferred) in enumerate(states)]
    step = decide_bulk("running", on_failure, children)
    ended = all(status not in LIVE for _, status, _ in children)
    assert (step.status not in LIVE) == ended
    if ended:
        assert (step.status == "succeeded") == (step.failure is None)
    else:  # somebody works, or waits to be claimed, or gets the turn, or is called off: it never just hangs
        offered = any(status in LIVE and not deferred for _, status, deferred in children)
        assert offered or step.offer is not None or step.cancel


def test_a_bulk_in_turns_runs_to_its_end_one_by_one() -> None:
    children = [["a", "pending", False], ["b", "pending", True], ["c", "pending", True]]
    order = []
    for _ in range(3):
        (turn,) = [one for one in children if one[1] == "pending" and not one[2]]
        turn[1] = "succeeded"
        order.append(turn[0])
        step = decide_bulk("running", "stop", [(one[0], one[1], one[2]) for one in children])  # type: ignore[misc]
        for one in children:
            one[2] = one[2] and one[0] != step.offer
    assert (order, step.status) == (["a", "b", "c"], "succeeded")
