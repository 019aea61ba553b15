"""The allocation machine as a pure function: legal transitions, deadlines, retries, and that every path ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.allocations.machine import (
    CLEANUP,
    TRANSITIONS,
    HostTask,
    Limits,
    Snapshot,
    Step,
    decide,
)
from gpuaas_server.allocations.wipe_proof import NOT_COVERED_OF_BOTH, NOT_COVERED_OF_HOST
from gpuaas_server.kernel.ssh_targets import SshEndpoint
from gpuaas_server.work.reconcilers import Wait

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = Limits(timedelta(minutes=10), timedelta(minutes=15), attempts=3)
SSH = {"ssh": {"address": "10.0.0.1", "port": 22, "user": "gpu"}}
# What the platform adds to a proof that states no grade.
NOT_COVERED = [*NOT_COVERED_OF_BOTH, *NOT_COVERED_OF_HOST]
OF_OLDER_AGENT = {
    "evidence": {},
    "verdict": {"grade": "inspected", "required": "inspected", "not_examined": [], "not_covered": NOT_COVERED},
}


def snapshot(**given: object) -> Snapshot:
    base = Snapshot("alc_1", "requested", 1, 0, None, 0, None, False, 0, 0, None, None, LIMITS)
    base = replace(base, addresses=frozenset({"10.0.0.1"}))
    return replace(base, **given)  # type: ignore[arg-type]


def task(kind: str, status: str, generation: int = 1, **more: object) -> HostTask:
    return HostTask(kind, generation, status, more.get("result", {}), more.get("failure"), more.get("evidence", {}))  # type: ignore[arg-type]


def provisioning(**given: object) -> Snapshot:
    state = {"state": "provisioning", "host_generation": 1, "phase": "provision", "attempt": 1}
    return snapshot(**{**state, "deadline_at": NOW + timedelta(minutes=5), **given})


def releasing(**given: object) -> Snapshot:
    state = {"state": "releasing", "host_generation": 1, "phase": "deprovision", "attempt": 1}
    return snapshot(**{**state, "deadline_at": NOW + timedelta(minutes=5), **given})


def test_a_request_is_provisioned_with_a_deadline() -> None:
    step = decide(snapshot(), NOW)
    assert step == Step("provisioning", send="provision", attempt=1, deadline_at=NOW + LIMITS.provision)


def test_a_provisioned_host_makes_the_allocation_active_with_an_ssh_target() -> None:
    step = decide(provisioning(task=task("provision", "succeeded", result=SSH)), NOW)
    assert step == Step("active", ssh=SshEndpoint("10.0.0.1", 22, "gpu"), phase_done=True)


@pytest.mark.parametrize(
    "reported",
    [
        {"address": "-oProxyCommand=id", "port": 22, "user": "gpu"},
        {"address": "10.0.0.1\n10.0.0.2", "port": 22, "user": "gpu"},
        {"address": "10.0.0.1", "port": 22, "user": "gpu\n"},
        {"address": "10.0.0.1", "port": 22, "user": "root"},
        {"address": "10.0.0.1", "port": "22", "user": "gpu"},
        {"address": "10.0.0.1", "port": True, "user": "gpu"},
        {"address": "10.0.0.1", "port": 65536, "user": "gpu"},
        {"address": "10.0.0.2", "port": 22, "user": "gpu"},
        {"address": "fe80::1%-oX", "port": 22, "user": "gpu"},
        {"port": 22},
        "10.0.0.1",
        [],
    ],
)
def test_an_ssh_target_that_is_not_the_hosts_own_is_refused_and_cleaned_up(reported: object) -> None:
    step = decide(provisioning(task=task("provision", "succeeded", result={"ssh": reported})), NOW)
    assert isinstance(step, Step)
    assert step.failure is not None
    assert (step.state, step.send, step.failure.code, step.ssh) == ("failed", "deprovision", "ssh_target_refused", None)
    assert step.failure.message.isprintable()


def test_success_without_an_ssh_target_is_a_failure() -> None:
    step = decide(provisioning(task=task("provision", "succeeded")), NOW)
    assert isinstance(step, Step)
    assert step.state == "failed"


def test_a_retryable_failure_is_tried_again_until_the_attempts_are_used_up() -> None:
    failed = task("provision", "failed", failure={"code": "x", "message": "m", "retryable": True})
    again = decide(provisioning(task=failed, attempt=2), NOW)
    assert isinstance(again, Step)
    assert (again.state, again.send, again.attempt) == ("provisioning", "provision", 3)
    given_up = decide(provisioning(task=failed, attempt=3), NOW)
    assert isinstance(given_up, Step)
    assert (given_up.state, given_up.send, given_up.slots) == ("failed", "deprovision", "cleaning")


def test_silence_past_the_deadline_fails_and_names_a_lost_node() -> None:
    late = NOW + timedelta(hours=1)
    for lost, code in ((False, "deadline_exceeded"), (True, "node_lost")):
        step = decide(provisioning(task=task("provision", "pending"), node_lost=lost), late)
        assert isinstance(step, Step)
        assert step.failure is not None
        assert (step.state, step.failure.code) == ("failed", code)


def test_a_result_of_an_older_task_is_not_taken_for_the_one_in_flight() -> None:
    step = decide(provisioning(host_generation=2, task=task("provision", "succeeded", 1, result=SSH)), NOW)
    assert step == Wait(NOW + timedelta(minutes=5))


def test_a_release_before_anything_reached_the_host_ends_at_once() -> None:
    step = decide(snapshot(state="releasing", phase="deprovision"), NOW)
    assert step == Step("released", ends=True, phase_done=True)


def test_a_release_goes_through_every_phase_and_ends_only_with_proof() -> None:
    first = decide(releasing(attempt=0, deadline_at=None, task=task("provision", "succeeded")), NOW)
    assert isinstance(first, Step)
    assert first.send == "deprovision"
    for kind, following in pairwise(CLEANUP):
        step = decide(releasing(phase=kind, task=task(kind, "succeeded")), NOW)
        assert isinstance(step, Step)
        assert (step.state, step.send) == ("releasing", following)
    proof = {"clean": True, "checks": []}
    step = decide(releasing(phase="verify_wipe", task=task("verify_wipe", "succeeded", result=proof)), NOW)
    assert step == Step("released", ends=True, evidence=proof | OF_OLDER_AGENT, phase_done=True)


def test_an_unproven_wipe_blocks_the_slots() -> None:
    for result in ({"clean": False}, {}, {"clean": "yes"}):
        step = decide(releasing(phase="verify_wipe", task=task("verify_wipe", "succeeded", result=result)), NOW)
        assert isinstance(step, Step)
        assert (step.state, step.slots, step.ends) == ("release_failed", "cleanup_blocked", False)


def test_a_wipe_verified_against_another_baseline_proves_nothing() -> None:
    active = decide(
        provisioning(task=task("provision", "succeeded", result=SSH, evidence={"baseline_sha256": "a"})), NOW
    )
    assert isinstance(active, Step)
    assert active.baseline == "a"
    for digest, ended in (("a", "released"), ("b", "release_failed"), (None, "release_failed")):
        evidence = {"baseline_sha256": digest} if digest else {}
        verified = task("verify_wipe", "succeeded", result={"clean": True}, evidence=evidence)
        step = decide(releasing(phase="verify_wipe", baseline="a", task=verified), NOW)
        assert isinstance(step, Step)
        assert step.state == ended


def test_a_failed_allocation_is_cleaned_and_stays_failed() -> None:
    proof = {"clean": True}
    verified = task("verify_wipe", "succeeded", result=proof)
    step = decide(releasing(state="failed", phase="verify_wipe", task=verified), NOW)
    assert step == Step("failed", ends=True, evidence=proof | OF_OLDER_AGENT, phase_done=True)


def test_changed_access_is_sent_and_tried_again_for_ever() -> None:
    active = snapshot(state="active", host_generation=1, access_wanted=2, access_sent=1)
    step = decide(active, NOW)
    assert isinstance(step, Step)
    assert (step.send, step.access_sent) == ("sync_access", 2)
    failed = task("sync_access", "failed")
    waiting = replace(active, access_sent=2, phase="sync_access", task=failed, attempt=99, deadline_at=NOW)
    step = decide(waiting, NOW)
    assert isinstance(step, Step)
    assert step.send == "sync_access"
    assert step.failure is not None


def test_failed_access_is_not_tried_again_before_a_growing_pause() -> None:
    failed = replace(task("sync_access", "failed"), reported_at=NOW)
    active = snapshot(state="active", host_generation=1, phase="sync_access", task=failed, deadline_at=NOW)
    for attempt, seconds in ((1, 1), (2, 2), (4, 8), (50, 300)):
        later = replace(active, attempt=attempt)
        assert decide(later, NOW) == Wait(NOW + timedelta(seconds=seconds))
        assert isinstance(decide(later, NOW + timedelta(seconds=seconds)), Step)


def test_a_clean_up_on_a_lost_host_is_blocked_without_waiting() -> None:
    for phase, attempt in (("deprovision", 0), ("deprovision", 1), ("wipe", 1), ("verify_wipe", 1)):
        for status in ("pending", "failed", "expired"):
            step = decide(releasing(phase=phase, attempt=attempt, task=task(phase, status), node_lost=True), NOW)
            assert isinstance(step, Step)
            assert step.failure is not None
            assert (step.state, step.failure.code, step.slots) == ("release_failed", "host_lost", "cleanup_blocked")
            assert step.evidence is not None
            assert step.evidence["clean"] is False


def test_a_proof_that_arrived_counts_although_the_host_was_lost_after_it() -> None:
    proof = task("verify_wipe", "succeeded", result={"clean": True})
    step = decide(releasing(phase="verify_wipe", task=proof, node_lost=True), NOW)
    assert step == Step("released", ends=True, evidence={"clean": True} | OF_OLDER_AGENT, phase_done=True)


def test_a_release_that_a_lost_host_blocked_goes_on_when_it_is_back_and_no_other_does() -> None:
    blocked = snapshot(state="release_failed", host_generation=3, blocked_by="host_lost")
    step = decide(blocked, NOW)
    assert step == Step("releasing", send="deprovision", attempt=1, deadline_at=NOW + LIMITS.release, slots="cleaning")
    assert decide(replace(blocked, node_lost=True), NOW) == Wait()
    assert decide(replace(blocked, blocked_by="wipe_not_proven"), NOW) == Wait()


def test_nothing_is_waited_for_on_a_lost_host_before_its_release_begins() -> None:
    leaving = snapshot(state="active", host_generation=1, release_by=NOW + timedelta(minutes=15), has_members=True)
    assert isinstance(decide(leaving, NOW), Wait)
    step = decide(replace(leaving, node_lost=True), NOW)
    assert isinstance(step, Step)
    assert step.state == "releasing"


tasks = st.none() | st.builds(
    HostTask,
    kind=st.sampled_from(["provision", "sync_access", *CLEANUP]),
    generation=st.integers(0, 3),
    status=st.sampled_from(["pending", "succeeded", "failed", "refused", "expired", "superseded"]),
    result=st.sampled_from([{}, SSH, {"clean": True}, {"clean": False}]),
    failure=st.sampled_from([None, {"code": "c", "message": "m", "retryable": True}]),
    evidence=st.sampled_from([{}, {"baseline_sha256": "a"}]),
)
snapshots = st.builds(
    Snapshot,
    id=st.just("alc_1"),
    state=st.sampled_from(sorted(TRANSITIONS)),
    generation=st.integers(1, 9),
    host_generation=st.integers(0, 3),
    phase=st.sampled_from([None, "provision", "sync_access", *CLEANUP]),
    attempt=st.integers(0, 4),
    deadline_at=st.none() | st.integers(-100, 100).map(lambda s: NOW + timedelta(seconds=s)),
    node_lost=st.booleans(),
    access_wanted=st.integers(0, 2),
    access_sent=st.integers(0, 2),
    baseline=st.sampled_from([None, "a", "b"]),
    task=tasks,
    limits=st.just(LIMITS),
    release_by=st.none() | st.integers(-100, 100).map(lambda s: NOW + timedelta(seconds=s)),
    has_members=st.booleans(),
    blocked_by=st.sampled_from([None, "host_lost", "wipe_not_proven"]),
)


@given(snapshots)
def test_no_step_makes_an_illegal_transition_or_waits_without_an_end(now: Snapshot) -> None:
    step = decide(now, NOW)
    if isinstance(step, Wait):
        if step.until is None and now.state in ("provisioning", "releasing"):
            assert now.deadline_at is None or now.phase is None
        return
    assert step.state == now.state or step.state in TRANSITIONS[now.state]
    if step.send is not None:
        assert step.deadline_at is not None
        assert step.attempt >= 1
    if step.ends:
        assert step.state in ("released", "failed")
        assert now.host_generation == 0 or step.evidence is not None
    if step.state in ("release_failed", "failed") and step.state != now.state:
        assert step.failure is not None
        assert step.failure.next_step


@given(snapshots)
def test_slots_of_a_lost_host_become_free_by_a_proof_only_and_nothing_waits_there(now: Snapshot) -> None:
    lost = replace(now, node_lost=True)
    step = decide(lost, NOW)
    if isinstance(step, Step) and step.ends and lost.host_generation > 0:
        assert step.evidence is not None
        assert step.evidence["clean"] is True
    if lost.state == "releasing" and lost.phase is not None:
        assert isinstance(step, Step)
        assert step.state in ("released", "release_failed")


@given(snapshots)
def test_a_blocked_release_goes_on_by_itself_exactly_when_its_lost_host_is_back(now: Snapshot) -> None:
    blocked = replace(now, state="release_failed")
    step = decide(blocked, NOW)
    goes_on = blocked.blocked_by == "host_lost" and not blocked.node_lost
    assert isinstance(step, Step) == goes_on
    if isinstance(step, Step):
        assert (step.state, step.slots, step.send) == ("releasing", "cleaning", "deprovision")
