"""The pure part of sample items: every state is left in time, and the last one is reached."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.sample_items.machine import LIMIT, STATES, TRANSITIONS, Move, Snapshot, decide
from gpuaas_server.work.reconcilers import Wait

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.sampled_from(STATES), st.integers(-10_000, 10_000))
def test_a_state_that_is_not_final_is_left_or_has_a_deadline_ahead(state: str, seconds: int) -> None:
    decision = decide(Snapshot(state, NOW + timedelta(seconds=seconds)), NOW)
    if isinstance(decision, Move):
        assert decision.state in TRANSITIONS[state]
    elif TRANSITIONS[state]:
        assert decision.until is not None
        assert decision.until > NOW
    else:
        assert decision == Wait()


def test_the_last_state_is_reached() -> None:
    state, passed = STATES[0], [STATES[0]]
    while isinstance(decision := decide(Snapshot(state, NOW - LIMIT), NOW), Move):
        state = decision.state
        passed.append(state)
    assert tuple(passed) == STATES
