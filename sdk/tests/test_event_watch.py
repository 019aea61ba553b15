"""Watching the event log: resume without gaps, fall back to long polls, end at a deadline."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from gpuaas_sdk import Client, Denied, GpuaasError, RetryPolicy, wait_for

QUICK = RetryPolicy(attempts=1)
STREAM = {"Content-Type": "text/event-stream"}


def event(number: int, note: str = "") -> dict[str, object]:
    return {
        "id": f"evt_{number}",
        "type": "allocation.active",
        "subject": "alc_1",
        "time": "2026-01-02T03:04:05.123456Z",
        "cursor": f"{number}.1",
        "data": {"note": note},
    }


def stream(*events: dict[str, object]) -> bytes:
    chunks = [
        f"id: {one['cursor']}\nevent: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in events
    ]
    return (": stream open\n\n" + "".join(chunks)).encode()


@pytest.fixture
def client(platform: Any) -> Iterator[Client]:
    with Client(platform.url, token="t0", retry=QUICK, timeout=5) as one:
        yield one


def test_a_broken_stream_resumes_after_the_last_event(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(
        answer(raw=stream(event(1), event(2)), headers=STREAM),
        answer(raw=stream(event(3, note="line\u2028end")), headers=STREAM),
    )
    seen = list(islice(client.watch("prj_1", subject="alc_1"), 3))
    assert [one.cursor for one in seen] == ["1.1", "2.1", "3.1"]
    assert seen[2].data["note"] == "line\u2028end"
    first, second = platform.received[:2]
    assert first.headers["accept"] == "text/event-stream"
    assert "last-event-id" not in first.headers
    assert second.headers["last-event-id"] == "2.1"
    assert "subject=alc_1" in second.path


def test_a_watch_starts_after_the_given_cursor(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(answer(raw=stream(event(9)), headers=STREAM))
    next(iter(client.watch("prj_1", after="8.1")))
    assert platform.received[0].headers["last-event-id"] == "8.1"


def test_it_polls_where_a_proxy_blocks_streams(client: Client, platform: Any, answer: Any) -> None:
    empty = {"items": [], "next_cursor": "0.0"}
    platform.answers(
        answer(200, empty),
        answer(200, {"items": [event(1)], "next_cursor": "1.1"}),
        answer(200, {"items": [event(2)], "next_cursor": "2.1"}),
    )
    seen = list(islice(client.watch("prj_1"), 2))
    assert [one.cursor for one in seen] == ["1.1", "2.1"]
    assert "wait=30" in platform.received[1].path
    assert "after=1.1" in platform.received[2].path


def test_an_unreachable_stream_falls_back_to_polls(
    client: Client, platform: Any, answer: Any, problem_answer: Any
) -> None:
    def decide(received: Any) -> Any:
        if received.headers["accept"] == "text/event-stream":
            return answer(hang_up=True)
        return answer(200, {"items": [event(1)], "next_cursor": "1.1"})

    platform.decide = decide
    assert next(iter(client.watch("prj_1"))).cursor == "1.1"


def test_a_refusal_ends_the_watch(client: Client, platform: Any, problem_answer: Any) -> None:
    platform.answers(problem_answer("forbidden", 403))
    with pytest.raises(Denied):
        next(iter(client.watch("prj_1")))
    assert len(platform.received) == 1


def test_a_watch_ends_at_its_deadline(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(answer(raw=stream(event(1)), headers=STREAM))
    assert len(list(client.watch("prj_1", deadline=0.3))) >= 1


def test_waiting_returns_what_was_found() -> None:
    answers = iter([None, None, "here"])
    assert wait_for(lambda: next(answers), 5) == "here"


def test_waiting_ends_at_the_deadline() -> None:
    with pytest.raises(GpuaasError) as raised:
        wait_for(lambda: None, 0.2, what="the impossible")
    assert raised.value.code == "deadline_exceeded"
    assert "the impossible" in raised.value.detail
