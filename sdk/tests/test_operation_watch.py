"""Following an operation: each change once, by long polls with the known generation, to its end or the deadline."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gpuaas_sdk import Client, DeadlineExceeded, RetryPolicy


@pytest.fixture
def client(platform: Any) -> Iterator[Client]:
    with Client(platform.url, token="t0", retry=RetryPolicy(attempts=1), timeout=5) as one:
        yield one


class Platform:
    """Shows the operation in one status after the other, each with a new generation; the last one stays."""

    def __init__(self, scripted: Any, answer: Any, *statuses: object) -> None:
        self.statuses = list(statuses)
        self.answer = answer
        self.generation = 0
        self.asked: list[dict[str, str]] = []
        scripted.decide = self.decide

    def decide(self, received: Any) -> Any:
        parts = urlsplit(received.path)
        assert parts.path.endswith("/projects/prj_1/operations/op_1"), "nothing else is asked"
        self.asked.append({name: values[0] for name, values in parse_qs(parts.query).items()})
        last = len(self.statuses) == 1
        shown = self.statuses[0] if last else self.statuses.pop(0)
        if not isinstance(shown, str):
            return shown
        self.generation += 0 if last and self.generation else 1
        return self.answer(200, {"id": "op_1", "status": shown, "generation": self.generation})


def test_each_change_is_shown_once_up_to_the_end(client: Client, platform: Any, answer: Any) -> None:
    Platform(platform, answer, "pending", "claimed", "running", "succeeded")
    seen = [one.status for one in client.operations.follow("prj_1", "op_1", 30)]
    assert seen == ["pending", "claimed", "running", "succeeded"]


def test_the_known_generation_is_sent_with_a_wait(
    client: Client, platform: Any, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Platform(platform, answer, "pending", "claimed", "succeeded")
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a clock of ours is between a change and who follows it"))
    assert len(list(client.operations.follow("prj_1", "op_1", 3600))) == 3
    assert shown.asked == [{}, {"wait": "30", "newer_than": "1"}, {"wait": "30", "newer_than": "2"}]


def test_a_follow_ends_at_its_deadline(client: Client, platform: Any, answer: Any) -> None:
    shown = Platform(platform, answer, "running", "succeeded")
    list(client.operations.follow("prj_1", "op_1", 4.5))
    assert shown.asked[1]["wait"] == "5"


def test_an_ended_operation_is_shown_without_a_wait(client: Client, platform: Any, answer: Any) -> None:
    Platform(platform, answer, "failed")
    assert [one.status for one in client.operations.follow("prj_1", "op_1", 0)] == ["failed"]


def test_an_unavailable_server_is_tried_again(client: Client, platform: Any, answer: Any, problem_answer: Any) -> None:
    away = problem_answer("internal", 500)
    Platform(platform, answer, away, "running", away, "succeeded")
    assert [one.status for one in client.operations.follow("prj_1", "op_1", 30)] == ["running", "succeeded"]


def test_a_server_that_answers_too_early_is_polled_with_pauses(client: Client, platform: Any, answer: Any) -> None:
    shown = Platform(platform, answer, "running")
    with pytest.raises(DeadlineExceeded) as late:
        list(client.operations.follow("prj_1", "op_1", 1.2))
    assert "op_1 did not end" in late.value.detail
    assert len(shown.asked) <= 6


@pytest.mark.parametrize("ask", ["show", "poll"])
def test_a_long_poll_has_a_longer_timeout(platform: Any, answer: Any, ask: str) -> None:
    def slowly(received: Any) -> Any:
        time.sleep(0.6)
        return answer(200, {"items": []} if ask == "poll" else {"id": "op_1", "status": "running"})

    platform.decide = slowly
    with Client(platform.url, token="t0", retry=RetryPolicy(attempts=1), timeout=0.3) as impatient:
        if ask == "poll":
            assert impatient.controller.poll("prj_1", wait=1) == []
        else:
            assert impatient.operations.show("prj_1", "op_1", wait=1, newer_than=1).status == "running"
