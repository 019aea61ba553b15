"""What follows for a receipt, from every snapshot."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.kernel.errors import CATALOGUE
from gpuaas_server.receipts.compare import STOPPED, Comparison, InspectionRequest
from gpuaas_server.receipts.footprint import digest, normalize
from gpuaas_server.receipts.machine import ATTEMPTS, TRANSITIONS, InspectionReport, Retry, Snapshot, decide
from gpuaas_server.work.reconcilers import Wait

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ASKED = InspectionRequest("rcp_1", "alc_1", "stopped", normalize({}), digest(normalize({})), None)


def snapshot(look: InspectionReport | None, seconds: int = 60, attempt: int = 1, lost: bool = False) -> Snapshot:
    return Snapshot("pending", attempt, NOW + timedelta(seconds=seconds), lost, ASKED, look)


def failed(code: str, retryable: bool = False, generation: int = 1) -> InspectionReport:
    return InspectionReport(generation, "failed", {}, {}, {"code": code, "message": "No.", "retryable": retryable})


def test_a_pending_look_is_waited_for_until_its_deadline() -> None:
    waits = decide(snapshot(InspectionReport(1, "pending", {}, {}, None)), NOW)
    assert waits == Wait(NOW + timedelta(seconds=60))


@pytest.mark.parametrize("lost", [True, False])
def test_a_host_that_stays_silent_is_unreachable(lost: bool) -> None:
    for look in (None, InspectionReport(1, "pending", {}, {}, None)):
        found = decide(snapshot(look, seconds=0, lost=lost), NOW)
        assert isinstance(found, Comparison)
        assert (found.status, found.code) == ("unseen", "host_unreachable")
        assert ("lost" in found.message) == lost
    assert isinstance(decide(snapshot(InspectionReport(1, "expired", {}, {}, None)), NOW), Comparison)


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("task_kind_unknown", "agent_too_old"),
        ("allocation_not_here", "allocation_ended"),
        ("spec_invalid", "inspection_failed"),
        ("", "inspection_failed"),
    ],
)
def test_each_failure_has_a_code_with_a_way_out(code: str, named: str) -> None:
    found = decide(snapshot(failed(code)), NOW)
    assert isinstance(found, Comparison)
    assert (found.status, found.code) == ("unseen", named)
    assert CATALOGUE[named].next_step


def test_a_failure_that_may_pass_is_tried_again_so_often() -> None:
    attempt, asked = 1, 0
    while isinstance(step := decide(snapshot(failed("host_io_error", True, attempt), attempt=attempt), NOW), Retry):
        attempt, asked = step.attempt, asked + 1
    assert asked == ATTEMPTS - 1
    assert isinstance(step, Comparison)
    assert step.code == "inspection_failed"


@pytest.mark.parametrize(("left", "again"), [(["credentials"], True), (["credentials", "units"], False), ([], False)])
def test_a_host_that_has_not_heard_yet_which_certificates_ended_is_asked_again_until_the_deadline(
    left: list[str], again: bool
) -> None:
    found = {name: [{"item": "certificate 7 still opens", "why": "revoked", "known": False}] for name in left}
    checks: list[dict[str, object]] = [
        {"name": name, "entries": [], "found": found.get(name, []), "left": 0, "not_in_footprint": [], "examined": 1}
        for name in STOPPED
    ]
    result: dict[str, object] = {"receipt_id": "rcp_1", "allocation_id": "alc_1", "depth": "stopped", "checks": checks}
    look = InspectionReport(5, "succeeded", result | {"footprint_sha256": digest(normalize({}))}, {}, None)
    step = decide(snapshot(look, attempt=5), NOW)
    assert (step == Retry(6)) is again
    late = decide(snapshot(look, seconds=0, attempt=5), NOW)
    assert isinstance(late, Comparison)
    assert late.status == ("left" if left else "clean")


def test_the_answer_of_an_older_look_does_not_count() -> None:
    assert isinstance(decide(snapshot(failed("spec_invalid", generation=1), attempt=2), NOW), Wait)


@given(
    st.sampled_from(sorted(TRANSITIONS)),
    st.sampled_from(["pending", "succeeded", "failed", "refused", "expired", "superseded"]),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(-60, 60),
    st.booleans(),
)
def test_no_snapshot_is_without_an_end_and_no_step_is_illegal(
    status: str, task: str, attempt: int, generation: int, seconds: int, retryable: bool
) -> None:
    look = InspectionReport(generation, task, {}, {}, {"code": "x", "message": "m", "retryable": retryable})
    now = Snapshot(status, attempt, NOW + timedelta(seconds=seconds), False, ASKED, look)
    step = decide(now, NOW)
    if status != "pending":
        assert step == Wait()
    elif isinstance(step, Comparison):
        assert step.status in TRANSITIONS[status]
        assert step.code in CATALOGUE
    elif isinstance(step, Retry):
        assert step.attempt == attempt + 1 <= ATTEMPTS
    else:
        assert step.until is not None
        assert step.until > NOW
