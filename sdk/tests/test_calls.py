"""How a call behaves on the wire: retries, idempotency keys, tokens, pages, errors."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from gpuaas_sdk import (
    CapacityRefused,
    Client,
    Denied,
    GpuaasError,
    NewAllocation,
    NotFound,
    PasswordCredentials,
    RateLimited,
    RetryPolicy,
    ServerFailed,
    ServiceAccountCredentials,
    Token,
    Unauthenticated,
    Unreachable,
)

ALLOCATION = {"id": "alc_1", "state": "requested", "gpu_count": 2, "colour": "unknown to us"}
TENANT = {"id": "tnt_1", "slug": "acme", "name": "Acme", "created_at": "2026-01-02T03:04:05Z"}
QUICK = RetryPolicy(first_delay=0.001, max_delay=0.002)


@pytest.fixture
def client(platform: Any) -> Iterator[Client]:
    with Client(platform.url, token="t0", retry=QUICK, timeout=5) as one:
        yield one


def test_a_call_carries_token_correlation_and_key(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(answer(201, {"items": [ALLOCATION]}))
    made = client.allocations.create("prj_1", NewAllocation(sku="h200", gpu_count=2))
    [call] = platform.received
    assert made[0].gpu_count == 2
    assert made[0].raw["colour"] == "unknown to us"
    assert call.path == "/api/v1/projects/prj_1/allocations"
    assert call.headers["authorization"] == "Bearer t0"
    assert len(call.headers["idempotency-key"]) >= 8
    assert len(call.headers["x-correlation-id"]) >= 8
    assert json.loads(call.body) == {"sku": "h200", "gpu_count": 2}


def test_a_repeated_post_reuses_its_idempotency_key(
    client: Client, platform: Any, answer: Any, problem_answer: Any
) -> None:
    platform.answers(
        answer(hang_up=True),
        problem_answer("unavailable", 503, retryable=True),
        problem_answer("idempotency_in_progress", 409, retryable=True),
        answer(201, TENANT),
    )
    assert client.tenants.create("acme", "Acme").slug == "acme"
    keys = {call.headers["idempotency-key"] for call in platform.received}
    correlations = {call.headers["x-correlation-id"] for call in platform.received}
    assert len(platform.received) == 4
    assert len(keys) == len(correlations) == 1


def test_two_calls_have_two_keys(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(answer(201, TENANT))
    client.tenants.create("acme", "Acme")
    client.tenants.create("acme", "Acme")
    assert len({call.headers["idempotency-key"] for call in platform.received}) == 2


def test_a_capacity_refusal_is_raised_without_a_retry(client: Client, platform: Any, problem_answer: Any) -> None:
    platform.answers(problem_answer("no_capacity", 409, retryable=True, free=3))
    with pytest.raises(CapacityRefused) as refusal:
        client.allocations.create("prj_1", NewAllocation(sku="h200"))
    error = refusal.value
    assert len(platform.received) == 1
    assert (error.code, error.status, error.retryable) == ("no_capacity", 409, True)
    assert error.next_step == "Do something else."
    assert error.correlation_id == "c0ffee00c0ffee00"
    assert error.details == {"free": 3}


def test_attempts_end(client: Client, platform: Any, problem_answer: Any) -> None:
    platform.answers(problem_answer("internal", 500, retryable=True))
    with pytest.raises(ServerFailed):
        client.me.show()
    assert len(platform.received) == QUICK.attempts


def test_retry_after_is_honoured(client: Client, platform: Any, answer: Any, problem_answer: Any) -> None:
    platform.answers(problem_answer("rate_limited", 429, retryable=True, retry_after="1"), answer(200, TENANT))
    started = time.monotonic()
    client.tenants.show("tnt_1")
    assert time.monotonic() - started >= 1.0


def test_a_long_retry_after_is_left_to_the_caller(client: Client, platform: Any, problem_answer: Any) -> None:
    platform.answers(problem_answer("rate_limited", 429, retryable=True, retry_after="600"))
    with pytest.raises(RateLimited) as limited:
        client.tenants.show("tnt_1")
    assert limited.value.retry_after == 600
    assert len(platform.received) == 1


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [("forbidden", 403, Denied), ("not_found", 404, NotFound), ("token_invalid", 401, Unauthenticated)],
)
def test_problems_become_typed_errors(
    client: Client, platform: Any, problem_answer: Any, code: str, status: int, kind: type[GpuaasError]
) -> None:
    platform.answers(problem_answer(code, status))
    with pytest.raises(kind) as raised:
        client.tenants.show("tnt_1")
    assert raised.value.code == code


def test_a_page_of_a_proxy_becomes_an_error_too(client: Client, platform: Any, answer: Any) -> None:
    page = answer(502, raw=b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"})
    platform.answers(page)
    with pytest.raises(ServerFailed) as raised:
        client.me.show()
    assert raised.value.code == "http_502"
    assert raised.value.retryable


def test_no_server_is_unreachable() -> None:
    with Client("http://127.0.0.1:9", token="t", retry=QUICK) as client:
        with pytest.raises(Unreachable) as raised:
            client.me.show()
    assert raised.value.retryable


def test_a_token_is_never_sent_unencrypted_to_another_machine() -> None:
    with pytest.raises(ValueError, match="unencrypted"):
        Client("http://gpuaas.example.com", token="t")


def test_pages_are_fetched_while_iterating(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(
        answer(200, {"items": [TENANT, {**TENANT, "id": "tnt_2"}], "next_cursor": "tnt_2"}),
        answer(200, {"items": [{**TENANT, "id": "tnt_3"}], "next_cursor": None}),
    )
    assert [tenant.id for tenant in client.tenants.list()] == ["tnt_1", "tnt_2", "tnt_3"]
    assert "after=" not in platform.received[0].path
    assert "after=tnt_2" in platform.received[1].path


def test_a_service_account_gets_and_renews_its_token(platform: Any, answer: Any, problem_answer: Any) -> None:
    def token(name: str) -> Any:
        return answer(200, {"access_token": name, "token_type": "Bearer", "expires_in": 900})

    platform.answers(
        token("t1"),
        answer(200, TENANT),
        problem_answer("token_expired", 401),
        token("t2"),
        answer(200, TENANT),
    )
    kept: list[Token] = []
    credentials = ServiceAccountCredentials("sva_1", "secret")
    with Client(platform.url, credentials=credentials, retry=QUICK, on_token=kept.append) as client:
        client.tenants.show("tnt_1")
        client.tenants.show("tnt_1")
    assert [call.headers.get("authorization") for call in platform.received] == [
        None,
        "Bearer t1",
        "Bearer t1",
        None,
        "Bearer t2",
    ]
    assert [one.access_token for one in kept] == ["t1", "t2"]
    grant = json.loads(platform.received[0].body)
    assert grant == {"grant_type": "client_credentials", "client_id": "sva_1", "client_secret": "secret"}


def test_a_token_about_to_end_is_renewed_before_use(platform: Any, answer: Any) -> None:
    platform.answers(answer(200, {"access_token": "new", "expires_in": 900}), answer(200, TENANT))
    asked: list[str] = []

    def ask() -> str:
        asked.append("asked")
        return "correct horse"

    ending = Token("old", time.time() + 5)
    with Client(platform.url, token=ending, credentials=PasswordCredentials("ada", ask)) as client:
        client.tenants.show("tnt_1")
    assert asked == ["asked"]
    assert platform.received[1].headers["authorization"] == "Bearer new"


def session(name: str, expires_in: int = 900) -> dict[str, object]:
    return {"access_token": name, "expires_in": expires_in, "refresh_token": f"gsr_{name}"}


def test_a_session_is_refreshed_without_asking_for_the_password_again(platform: Any, answer: Any) -> None:
    platform.answers(
        answer(200, session("t1", expires_in=5)), answer(200, TENANT), answer(200, session("t2")), answer(200, TENANT)
    )
    asked: list[str] = []
    credentials = PasswordCredentials("ada", lambda: asked.append("asked") or "secret")  # type: ignore[func-returns-value]
    with Client(platform.url, credentials=credentials, retry=QUICK) as client:
        client.tenants.show("tnt_1")
        client.tenants.show("tnt_1")
    grants = [json.loads(call.body) for call in platform.received if call.method == "POST"]
    assert grants[1] == {"grant_type": "refresh_token", "refresh_token": "gsr_t1"}
    assert asked == ["asked"]
    assert platform.received[-1].headers["authorization"] == "Bearer t2"


def test_credentials_start_a_new_session_when_the_old_one_has_ended(
    platform: Any, answer: Any, problem_answer: Any
) -> None:
    platform.answers(problem_answer("session_ended", 401), answer(200, session("t2")), answer(200, TENANT))
    ended = Token("t1", time.time() - 1, "gsr_t1")
    with Client(platform.url, token=ended, credentials=PasswordCredentials("ada", "secret"), retry=QUICK) as client:
        client.tenants.show("tnt_1")
    assert [json.loads(call.body)["grant_type"] for call in platform.received[:2]] == ["refresh_token", "password"]


def test_an_ended_session_without_credentials_is_an_error(platform: Any, problem_answer: Any) -> None:
    platform.answers(problem_answer("session_ended", 401))
    with Client(platform.url, token=Token("t1", time.time() - 1, "gsr_t1"), retry=QUICK) as client:
        with pytest.raises(Unauthenticated) as raised:
            client.me.show()
    assert raised.value.code == "session_ended"


def test_a_refresh_whose_answer_was_lost_is_repeated_once_and_no_more(platform: Any, answer: Any) -> None:
    platform.answers(answer(hang_up=True), answer(hang_up=True), answer(200, session("t2")))
    with Client(platform.url, token=Token("t1", time.time() - 1, "gsr_t1"), retry=QUICK) as client:
        with pytest.raises(Unreachable):
            client.me.show()
    assert len(platform.received) == 2


def test_wrong_credentials_are_not_tried_twice(platform: Any, problem_answer: Any) -> None:
    platform.answers(problem_answer("bad_credentials", 401))
    with Client(platform.url, credentials=PasswordCredentials("ada", "wrong"), retry=QUICK) as client:
        with pytest.raises(Unauthenticated):
            client.me.show()
    assert len(platform.received) == 1


def test_a_change_can_insist_on_the_generation_it_read(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(answer(200, TENANT))
    client.tenants.update("tnt_1", name="New", generation=7)
    assert platform.received[0].headers["if-match"] == '"7"'


def test_a_time_in_a_query_has_its_zone(client: Client, platform: Any, answer: Any) -> None:
    platform.answers(answer(200, {"items": [], "next_cursor": None}))
    assert client.app_usage.list("prj_1", since=datetime(2026, 3, 1, tzinfo=UTC)).first(1) == []
    [call] = platform.received
    assert "since=2026-03-01T00%3A00%3A00%2B00%3A00" in call.path
