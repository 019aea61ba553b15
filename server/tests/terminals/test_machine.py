"""The pure part of terminals: who ends one that nobody carries, and when."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.terminals.machine import SLACK, TRANSITIONS, End, HostTask, Snapshot, decide
from gpuaas_server.work.reconcilers import Wait

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = st.integers(-100, 100).map(lambda seconds: NOW + timedelta(seconds=seconds))
TASKS = st.none() | st.builds(
    HostTask,
    st.sampled_from(["pending", "succeeded", "failed", "refused", "expired"]),
    st.none() | st.just({"code": "terminal_login_failed", "message": "No shell."}),
)


@given(
    st.builds(
        Snapshot,
        status=st.sampled_from(sorted(TRANSITIONS)),
        open_by=SECONDS,
        has_holder=st.booleans(),
        lease_until=SECONDS,
        node_lost=st.booleans(),
        task=TASKS,
    )
)
def test_what_has_not_ended_ends_or_waits_for_a_moment_that_comes(snapshot: Snapshot) -> None:
    decision = decide(snapshot, NOW)
    if snapshot.status == "ended":
        assert decision == Wait()
    elif isinstance(decision, Wait):
        assert decision.until is not None
        assert decision.until > NOW
    else:
        assert decision.message.endswith(".")


def test_a_holder_that_stopped_renewing_is_not_waited_for() -> None:
    opened = Snapshot("open", NOW - timedelta(hours=1), True, NOW, False, None)
    assert decide(opened, NOW) == End("interrupted", "The connection through the platform was interrupted.")
    assert decide(opened, NOW - timedelta(seconds=1)) == Wait(NOW)


def test_a_host_that_refused_is_quoted_and_one_that_is_silent_is_not_waited_for_long() -> None:
    refused = HostTask("failed", {"code": "terminal_not_offered", "message": "A simulated host has no shell"})
    asked = Snapshot("requested", NOW, False, None, True, refused)
    assert decide(asked, NOW - timedelta(seconds=9)) == End(
        "not_opened", "A simulated host has no shell (terminal_not_offered)."
    )
    silent = Snapshot("requested", NOW, False, None, True, HostTask("pending", None))
    assert decide(silent, NOW + SLACK) == End("not_opened", "The host could not open a terminal: its node is lost.")
