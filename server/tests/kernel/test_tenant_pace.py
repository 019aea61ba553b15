"""The pace of one tenant's changes: a burst, then one after the other, then a refusal; and nobody else is concerned."""

from math import inf

import pytest
from prometheus_client import CollectorRegistry, Counter

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http import tenant_pace
from gpuaas_server.kernel.http.tenant_pace import LONGEST_WAIT, TenantPace


class Clock:
    now = 1024.0  # binary fractions, so that sums are exact

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_goes_at_once_and_what_follows_waits_its_turn(clock: Clock) -> None:
    pace = TenantPace(8.0, 3, clock)
    assert [pace.reserve("a") for _ in range(3)] == [0, 0, 0]
    assert [pace.reserve("a") for _ in range(3)] == [0.125, 0.25, 0.375]
    assert pace.reserve("b") == 0


def test_after_a_rest_there_is_a_burst_again_and_no_more_than_one(clock: Clock) -> None:
    pace = TenantPace(8.0, 3, clock)
    for _ in range(6):
        pace.reserve("a")
    clock.now += 3600
    assert [pace.reserve("a") for _ in range(4)] == [0, 0, 0, 0.125]


def test_who_would_wait_for_long_is_refused_and_told_when_to_come_again(clock: Clock) -> None:
    pace = TenantPace(8.0, 1, clock)
    admitted = 1 + int(LONGEST_WAIT * 8)
    waits = [pace.reserve("a") for _ in range(admitted)]
    assert max(waits) == LONGEST_WAIT
    for _ in range(3):  # a refusal counts for nothing: nobody is locked out by asking
        with pytest.raises(Problem, match="rate_limited") as refused:
            pace.reserve("a")
        assert refused.value.headers == {"Retry-After": "1"}
    clock.now += 0.125
    assert pace.reserve("a") == LONGEST_WAIT


def test_tenants_at_rest_are_forgotten(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_pace, "MOST_TENANTS", 2)
    pace = TenantPace(8.0, 1, clock)
    pace.reserve("a")
    clock.now += 60
    for _ in range(2):
        pace.reserve("b")
    pace.reserve("c")
    assert pace.reserve("b") == 0.25  # one that is busy is not
    assert len(pace._over_at) == 2


def test_many_things_in_one_request_are_paid_for_by_what_comes_next(clock: Clock) -> None:
    pace = TenantPace(8.0, 4, clock)
    assert pace.reserve("a") == 0
    pace.count("a", 7)
    assert pace.reserve("a") == 0.625
    assert pace.reserve("b") == 0


def test_what_came_to_nothing_is_taken_back_and_gives_no_advance(clock: Clock) -> None:
    pace = TenantPace(8.0, 4, clock)
    pace.count("a", 7)
    pace.count("a", -7)
    assert [pace.reserve("a") for _ in range(5)] == [0, 0, 0, 0, 0.125]
    clock.now += 60
    pace.count("a", 7)
    clock.now += 60
    pace.count("a", -7)  # paid for by the time that has passed
    assert [pace.reserve("a") for _ in range(5)] == [0, 0, 0, 0, 0.125]


def test_a_sender_of_bytes_is_slowed_down_and_never_refused(clock: Clock) -> None:
    pace = TenantPace(1024, 1024, clock, longest_wait=inf)
    assert [pace.reserve("a", 1024) for _ in range(3)] == [0, 1, 2]
    assert pace.reserve("a", 1024 * 3600) == 3602


async def test_only_changes_are_counted_as_changes_that_waited_or_were_refused(clock: Clock) -> None:
    registry = CollectorRegistry()
    outcomes = Counter("paced", "Of the test.", ["outcome"], registry=registry)
    changes, upload_bytes = TenantPace(1024.0, 1, clock, 0.0, outcomes), TenantPace(1024.0, 1, clock)
    await upload_bytes.wait_turn("a", 2)
    await changes.wait_turn("a")
    with pytest.raises(Problem, match="rate_limited"):
        await changes.wait_turn("a")
    assert registry.get_sample_value("paced_total", {"outcome": "refused"}) == 1
    assert registry.get_sample_value("paced_total", {"outcome": "waited"}) is None
