"""The awaited client speaks as the other one does: pages, retries with one key, typed errors, tokens that are renewed."""

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
