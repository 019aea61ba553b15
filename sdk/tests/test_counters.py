"""Usage from counters: every unit is recorded once, whenever the controller crashes."""

import random
from datetime import UTC, datetime, timedelta

from gpuaas_sdk.controller import Counter, UsageCounters

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOKENS = Counter("tokens", "count", "prj_1", "replica/1")


def at(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_a_window_is_kept_first_and_recorded_by_the_next_check() -> None:
    first = UsageCounters.read(None)
    first.observe(TOKENS, 100, at(0))
    assert (first.usage, first.rest()) == ([], [])
    second = UsageCounters.read(first.document())
    second.observe(TOKENS, 150, at(1))
    assert second.usage == []
    third = UsageCounters.read(second.document())
    third.observe(TOKENS, 180, at(2))
    [record] = third.usage
    assert (record.quantity, record.started_at, record.ended_at, record.subject) == (50, at(0), at(1), "replica/1")
    assert [one.quantity for one in third.rest()] == [50, 30]


def test_a_source_that_begins_anew_counts_from_zero_and_one_from_the_start_loses_nothing() -> None:
    counters = UsageCounters()
    counters.start_at_zero(TOKENS, at(0))
    counters.observe(TOKENS, 40, at(1))
    counters = UsageCounters.read(counters.document())
    counters.observe(TOKENS, 7, at(2))  # its process was restarted
    assert [one.quantity for one in counters.rest()] == [40, 7]
    counters.observe(TOKENS, 7, at(2))  # the same reading again
    assert [one.quantity for one in counters.rest()] == [40, 7]


def test_whenever_the_controller_crashes_every_unit_is_recorded_once() -> None:
    chance = random.Random(7)
    for _ in range(50):
        begun = UsageCounters()
        begun.start_at_zero(TOKENS, at(0))
        kept, recorded, value = begun.document(), dict[str, int](), 0
        for minute in range(1, 40):
            value += chance.randrange(0, 9)
            counters = UsageCounters.read(kept)
            counters.observe(TOKENS, value, at(minute))
            if chance.random() < 0.2:
                continue  # crashed before anything was recorded
            for one in counters.usage:
                assert recorded.setdefault(one.source_key, one.quantity) == one.quantity, "one key, one content"
            if chance.random() < 0.3:
                continue  # crashed after it was recorded and before the position was kept
            kept = counters.document()
        last = UsageCounters.read(kept)
        last.observe(TOKENS, value, at(60))
        for one in last.rest():
            recorded[one.source_key] = one.quantity
        assert sum(recorded.values()) == value
