"""The life of a deletion as a pure function."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.deletions.machine import TRANSITIONS, Leftover, Snapshot, Step, can_undo, decide, describe

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
LIVE = Leftover("allocation(s) that are not released", 5, ("alc_1", "alc_2", "alc_3"))
snapshots = st.builds(
    Snapshot,
    st.sampled_from(sorted(TRANSITIONS)),
    st.none() | st.integers(-100, 100).map(lambda hours: NOW + timedelta(hours=hours)),
    st.sampled_from([(), (LIVE,)]),
)


def test_it_waits_for_the_end_of_the_grace_period_and_begins_then() -> None:
    later = NOW + timedelta(days=1)
    assert decide(Snapshot("scheduled", later), NOW).until == later
    assert decide(Snapshot("scheduled", NOW), NOW).step is Step.BEGIN


def test_a_place_in_which_something_lives_is_looked_at_again_later_and_never_purged() -> None:
    decision = decide(Snapshot("scheduled", NOW, (LIVE,)), NOW)
    assert decision.step is Step.WAIT
    assert decision.until is not None
    assert decision.until > NOW


@given(snapshots)
def test_nothing_is_removed_before_the_date_or_before_the_purge_has_begun(snapshot: Snapshot) -> None:
    decision = decide(snapshot, NOW)
    if decision.step is Step.PURGE:
        assert snapshot.state == "purging"
    if decision.step is Step.BEGIN:
        assert snapshot.state == "scheduled"
        assert not snapshot.leftovers
        assert snapshot.delete_after is not None
        assert snapshot.delete_after <= NOW
    if decision.step is Step.WAIT:
        assert decision.until is not None
        assert decision.until > NOW


@given(snapshots)
def test_what_has_ended_stays_as_it_is_and_everything_else_goes_on(snapshot: Snapshot) -> None:
    ended = not TRANSITIONS[snapshot.state]
    assert (decide(snapshot, NOW).step is Step.END) is ended


def test_it_can_be_undone_until_the_purge_begins() -> None:
    assert [state for state in sorted(TRANSITIONS) if can_undo(state)] == ["scheduled"]


def test_the_refusal_names_what_is_there_and_says_when_there_is_more() -> None:
    assert describe("tenant", (LIVE, Leftover("operation(s) that have not ended", 1, ("op_1",)))) == (
        "The tenant is not empty: 5 allocation(s) that are not released (alc_1, alc_2, alc_3 and 2 more);"
        " 1 operation(s) that have not ended (op_1)."
    )
