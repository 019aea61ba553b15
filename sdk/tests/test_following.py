"""Following an operation: each change once, woken by events, to its end or the deadline."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from gpuaas_sdk import Client, DeadlineExceeded, RetryPolicy

EVENTS = {"items": [], "next_cursor": "1.1"}


@pytest.fixture
def client(platform: Any) -> Iterator[Client]:
    with Client(platform.url, token="t0", retry=RetryPolicy(attempts=1), timeout=5) as one:
        yield one


class Platform:
    """Shows the operation in one status after the other; the log answers as it is told."""

    def __init__(self, scripted: Any, answer: Any, *statuses: object) -> None:
        self.statuses = list(statuses)
        self.answer = answer
        self.log = answer(200, EVENTS)
        self.asked: list[str] = []
        scripted.decide = self.decide

    def decide(self, received: Any) -> Any:
        if "/events" in received.path:
            self.asked.append(received.path)
            return self.log
        shown = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return shown if not isinstance(shown, str) else self.answer(200, {"id": "op_1", "status": shown})


def test_each_change_is_shown_once_up_to_the_end(client: Client, platform: Any, answer: Any) -> None:
    shown = Platform(platform, answer, "pending", "pending", "claimed", "running", "succeeded")
    seen = [one.status for one in client.operations.follow("prj_1", "op_1", 30)]
    assert seen == ["pending", "claimed", "running", "succeeded"]
    assert "tail=0" in shown.asked[0]
    assert all("subject=op_1" in path for path in shown.asked[1:])
    assert ["wait=10" in path for path in shown.asked[1:]] == [True, True, False, False], "steps are looked at often"


def test_one_that_has_ended_is_shown_and_not_waited_for(client: Client, platform: Any, answer: Any) -> None:
    Platform(platform, answer, "failed")
    assert [one.status for one in client.operations.follow("prj_1", "op_1", 0)] == ["failed"]


def test_a_server_that_is_away_for_a_while_is_waited_for(
    client: Client, platform: Any, answer: Any, problem_answer: Any
) -> None:
    away = problem_answer("internal", 500)
    Platform(platform, answer, away, "running", away, "succeeded")
    assert [one.status for one in client.operations.follow("prj_1", "op_1", 30)] == ["running", "succeeded"]


def test_who_may_not_read_the_log_looks_by_the_clock(
    client: Client, platform: Any, answer: Any, problem_answer: Any
) -> None:
    shown = Platform(platform, answer, "pending", "succeeded")
    shown.log = problem_answer("forbidden", 403)
    begun = time.monotonic()
    assert [one.status for one in client.operations.follow("prj_1", "op_1", 30)] == ["pending", "succeeded"]
    assert 0.5 < time.monotonic() - begun < 5
    assert len(shown.asked) == 1, "it does not ask again for what it may not have"


def test_the_deadline_ends_a_follow_and_not_the_operation(client: Client, platform: Any, answer: Any) -> None:
    Platform(platform, answer, "running")
    with pytest.raises(DeadlineExceeded) as late:
        list(client.operations.follow("prj_1", "op_1", 0.3))
    assert "op_1 did not end" in late.value.detail
