"""The async client behaves like the blocking one: pages, retries with one key, typed errors, renewed tokens."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from gpuaas_sdk import AsyncClient, NotFound, RetryPolicy, ServiceAccountCredentials

QUICK = RetryPolicy(attempts=3, first_delay=0.01, max_delay=0.01)
WHO = ServiceAccountCredentials("sva_1", "secret")


def client(platform: Any) -> AsyncClient:
    return AsyncClient(platform.url, credentials=WHO, retry=QUICK)


async def test_pages_are_followed_to_the_last_one(platform: Any, answer: Callable[..., Any]) -> None:
    token = answer(body={"access_token": "t1", "expires_in": 900})
    one = answer(body={"items": [{"id": "op_1", "status": "pending"}], "next_cursor": "c1"})
    two = answer(body={"items": [{"id": "op_2", "status": "pending"}], "next_cursor": None})
    platform.answers(token, one, two)
    async with client(platform) as asked:
        found = await asked.operations.list("prj_1").all()
    assert [operation.id for operation in found] == ["op_1", "op_2"]
    assert [one.path.partition("?")[0] for one in platform.received] == [
        "/api/v1/auth/token",
        *["/api/v1/projects/prj_1/operations"] * 2,
    ]
    assert "after=c1" in platform.received[-1].path


async def test_a_change_is_repeated_with_the_same_key(
    platform: Any, answer: Callable[..., Any], problem_answer: Callable[..., Any]
) -> None:
    token = answer(body={"access_token": "t1", "expires_in": 900})
    platform.answers(
        token, problem_answer("unavailable", 503, True), answer(body={"id": "op_1", "status": "cancelled"})
    )
    async with client(platform) as asked:
        ended = await asked.operations.cancel("prj_1", "op_1")
    assert ended.status == "cancelled"
    keys = {one.headers["idempotency-key"] for one in platform.received[1:]}
    assert len(platform.received) == 3
    assert len(keys) == 1


async def test_a_token_that_is_refused_is_replaced_once(
    platform: Any, answer: Callable[..., Any], problem_answer: Callable[..., Any]
) -> None:
    first, second = (answer(body={"access_token": name, "expires_in": 900}) for name in ("t1", "t2"))
    shown = answer(body={"id": "op_1", "status": "running"})
    platform.answers(first, problem_answer("token_expired", 401), second, shown)
    async with client(platform) as asked:
        await asked.operations.show("prj_1", "op_1")
    assert platform.received[-1].headers["authorization"] == "Bearer t2"


async def test_a_problem_is_the_same_exception(
    platform: Any, answer: Callable[..., Any], problem_answer: Callable[..., Any]
) -> None:
    platform.answers(answer(body={"access_token": "t1", "expires_in": 900}), problem_answer("not_found", 404))
    async with client(platform) as asked:
        with pytest.raises(NotFound):
            await asked.operations.show("prj_1", "op_1")


async def test_a_broken_stream_resumes_after_the_last_event(platform: Any, answer: Callable[..., Any]) -> None:
    def stream(*cursors: str) -> Any:
        events = [{"id": f"evt_{one}", "type": "x", "subject": "alc_1", "cursor": one} for one in cursors]
        text = "".join(f"id: {one['cursor']}\ndata: {json.dumps(one)}\n\n" for one in events)
        return answer(raw=text.encode(), headers={"Content-Type": "text/event-stream"})

    platform.answers(stream("1.1", "2.1"), stream("3.1"))
    async with AsyncClient(platform.url, token="t0", retry=QUICK) as asked:
        seen = []
        async for event in asked.watch("prj_1", subject="alc_1"):
            seen.append(event.cursor)
            if len(seen) == 3:
                break
    assert seen == ["1.1", "2.1", "3.1"]
    assert "last-event-id" not in platform.received[0].headers
    assert platform.received[1].headers["last-event-id"] == "2.1"


async def test_it_polls_where_a_proxy_blocks_streams(platform: Any, answer: Callable[..., Any]) -> None:
    event = {"id": "evt_1", "type": "x", "subject": "alc_1", "cursor": "1.1"}
    platform.answers(answer(body={"items": []}), answer(body={"items": [event], "next_cursor": "1.1"}))
    async with AsyncClient(platform.url, token="t0", retry=QUICK) as asked:
        async for seen in asked.watch("prj_1"):
            assert seen.id == "evt_1"
            break
    assert "wait=30" in platform.received[1].path


async def test_the_client_works_after_an_abandoned_call(platform: Any, answer: Callable[..., Any]) -> None:
    def slowly(received: Any) -> Any:
        time.sleep(0.5 if received.path.endswith("slow") else 0)
        return answer(body={"id": "op_1", "status": "running"})

    platform.decide = slowly
    async with AsyncClient(platform.url, token="t0", retry=QUICK) as asked:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asked.operations.show("prj_1", "slow"), 0.1)
        assert (await asked.operations.show("prj_1", "op_1")).id == "op_1"
