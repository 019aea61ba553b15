"""Hot calls of agents have a direct route beside the documented one, and both answer the same.

The direct route takes the content type that agents send. With a charset the same request goes the documented way.
"""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from psycopg.errors import AdminShutdown, DeadlockDetected

from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.http import direct
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.metrics import registry
from gpuaas_server.nodes import agent_calls
from gpuaas_server.nodes.agent_endpoints import DIRECT_ROUTES
from tests_support.agents import Host, Json, Site

DIRECT, DOCUMENTED = "application/json", "application/json; charset=utf-8"
RESULT = {"generation": 1, "status": "succeeded", "phases": [], "result": {}, "evidence": {}, "failure": None}
PROGRESS = {"generation": 1, "phases": [{"name": "boot", "status": "running"}]}
HEARTBEAT = {
    "agent_version": "0.1.0",
    "boot_id": "boot-1",
    "address": "10.0.0.1",
    "ssh_host_public_key": "ssh-ed25519 " + "A" * 43,
    "allocations": [],
}
CALLS = {"result": RESULT, "progress": PROGRESS, "heartbeat": HEARTBEAT}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the direct routes that requests went."""
    paths: list[str] = []
    answer = direct.DirectBodyRoute.answer

    async def note(self: direct.DirectBodyRoute, request: Any) -> Any:
        paths.append(self.path)
        return await answer(self, request)

    monkeypatch.setattr(direct.DirectBodyRoute, "answer", note)
    return paths


@pytest.fixture
async def host(site: Site) -> Host:
    return await site.host()


async def create_task(platform: Platform, host: Host) -> str:
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        resource = new_id("alc")
        return await host_tasks.task_create(
            tx,
            node_id=host.node_id,
            tenant_id=new_id("tnt"),
            kind="provision",
            resource_id=resource,
            generation=1,
            spec={"allocation_id": resource, "shape": "gpu_slice"},
            deadline=tx.now + timedelta(minutes=5),
            notify_kind="allocation",
            notify_subject=resource,
        )


async def send(
    host: Host, path: str, body: bytes, content_type: str | None, authorization: str | None = None
) -> httpx.Response:
    signed = host.sign("POST", f"/api/v1/agent{path}", body) if authorization is None else authorization
    headers = {"Authorization": signed, "X-Correlation-ID": "compared-1"}
    if content_type is not None:
        headers["Content-Type"] = content_type
    return await host.client.post(f"/agent{path}", content=body, headers=headers)


def answer_of(answer: httpx.Response) -> tuple[int, Json, dict[str, str]]:
    """What must be the same: status, document and headers, without the time."""
    document = {name: value for name, value in answer.json().items() if name != "server_time"}
    headers = {name: value for name, value in answer.headers.items() if name not in ("traceparent", "content-length")}
    return answer.status_code, document, headers


async def compare(host: Host, path: str, body: bytes, authorization: str | None = None) -> tuple[int, Json]:
    """Send the request both ways and return the answer, which is the same."""
    answers = [answer_of(await send(host, path, body, way, authorization)) for way in (DIRECT, DOCUMENTED)]
    assert answers[0] == answers[1]
    status, document, _ = answers[0]
    return status, document


def path_of(call: str, task_id: str) -> str:
    return "/heartbeat" if call == "heartbeat" else f"/tasks/{task_id}/{call}"


WRONG_BODIES = [
    b"",
    b"{",
    b"nonsense",
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"n": ' + b"9" * 5000 + b"}",
    b"null",
    b"[]",
    b"1",
    b'"text"',
    b"{}",
]
WRONG_FIELDS: list[tuple[str, Json]] = [
    ("result", {"extra": 1}),
    ("result", {"generation": "1"}),
    ("result", {"generation": -1, "status": "perhaps"}),
    ("result", {"phases": ["boot", {"name": "boot"}, None]}),
    ("result", {"phases": [{"name": "boot", "status": "running", "started_at": 5}]}),
    ("result", {"failure": {"code": "x"}}),
    ("result", {"result": []}),
    ("progress", {"phases": [{}] * 101}),
    ("progress", {"generation": 1.5}),
    ("heartbeat", {"address": "no where"}),
    ("heartbeat", {"allocations": [{"allocation_id": "alc_1", "generation": 1}, 7]}),
    ("heartbeat", {"tls_anchors": ["short"]}),
]


@pytest.mark.parametrize("call", CALLS)
async def test_what_is_no_valid_body_is_answered_as_documented(
    site: Site, host: Host, taken: list[str], call: str
) -> None:
    path = path_of(call, await create_task(site.platform, host))
    for body in WRONG_BODIES:
        status, problem = await compare(host, path, body)
        assert (status, problem["code"]) in ((400, "malformed_body"), (422, "invalid_request")), body
    assert len(taken) == len(WRONG_BODIES)


@pytest.mark.parametrize(("call", "wrong"), WRONG_FIELDS)
async def test_wrong_fields_are_named_as_documented(
    site: Site, host: Host, taken: list[str], call: str, wrong: Json
) -> None:
    path = path_of(call, await create_task(site.platform, host))
    status, problem = await compare(host, path, json.dumps(CALLS[call] | wrong).encode())
    assert (status, problem["code"]) == (422, "invalid_request")
    assert problem["details"]["fields"]
    assert len(taken) == 1


@pytest.mark.parametrize("call", CALLS)
async def test_an_unproven_caller_learns_nothing_of_the_body(
    site: Site, host: Host, taken: list[str], call: str
) -> None:
    path = path_of(call, await create_task(site.platform, host))
    for body in (json.dumps(CALLS[call]).encode(), b"{}"):
        foreign = Host(host.client, node_id=host.node_id).sign("POST", f"/api/v1/agent{path}", body)
        for authorization in ("", "Bearer x", foreign):
            status, problem = await compare(host, path, body, authorization)
            assert (status, problem["code"]) == (401, "agent_signature_invalid")
    assert len(taken) == 6


@pytest.mark.parametrize("call", CALLS)
async def test_a_direct_call_is_not_repeated_the_documented_way(site: Site, host: Host, call: str) -> None:
    path, body = path_of(call, await create_task(site.platform, host)), json.dumps(CALLS[call]).encode()
    signed = host.sign("POST", f"/api/v1/agent{path}", body)
    assert (await send(host, path, body, DIRECT, signed)).status_code == 200
    again = await send(host, path, body, DOCUMENTED, signed)
    assert (again.status_code, again.json()["code"]) == (401, "agent_replay")


@pytest.mark.parametrize("call", CALLS)
async def test_good_calls_are_answered_and_counted_as_documented(
    site: Site, host: Host, taken: list[str], call: str
) -> None:
    path = path_of(call, await create_task(site.platform, host))
    labels = {"route": taken_path(call), "method": "POST", "status": "200"}
    before = registry.get_sample_value("gpuaas_http_requests_total", labels) or 0
    assert (await compare(host, path, json.dumps(CALLS[call]).encode()))[0] == 200
    assert registry.get_sample_value("gpuaas_http_requests_total", labels) == before + 2
    assert taken == [taken_path(call)]


def taken_path(call: str) -> str:
    return f"/agent{path_of(call, '{task_id}')}"


@pytest.mark.parametrize("call", ["result", "progress"])
async def test_refusals_of_the_verb_are_answered_and_recorded_as_documented(
    site: Site, host: Host, taken: list[str], call: str
) -> None:
    task_id = new_id("tsk")
    status, problem = await compare(host, path_of(call, task_id), json.dumps(CALLS[call]).encode())
    assert (status, problem["code"]) == (404, "task_not_found")
    trail = await site.admin.get(f"/audit?resource_id={task_id}")
    assert {(row["action"], row["outcome"]) for row in trail["items"]} == {(f"agent_task_{call}", "denied")}
    old = path_of(call, await create_task(site.platform, host))
    status, problem = await compare(host, old, json.dumps(CALLS[call] | {"generation": 2}).encode())
    assert (status, problem["code"]) == (409, "stale_generation")


async def test_a_body_that_is_too_large_is_refused_as_documented(site: Site, host: Host, taken: list[str]) -> None:
    assert (await compare(host, "/heartbeat", b" " * 1_048_577))[0] == 413

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * 65_536

    answers = []
    for way in (DIRECT, DOCUMENTED):
        headers = {"Content-Type": way, "X-Correlation-ID": "compared-1"}
        answers.append(answer_of(await host.client.post("/agent/heartbeat", content=endless(), headers=headers)))
    assert answers[0] == answers[1]
    assert (answers[0][0], answers[0][1]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("failure", "detail"),
    [
        (DeadlockDetected("deadlock detected"), "Others changed the same things at the same moment; nothing was done."),
        (AdminShutdown("terminating connection"), "PostgreSQL was shut down."),
    ],
)
async def test_failures_of_the_database_are_answered_as_documented(
    site: Site, host: Host, taken: list[str], monkeypatch: pytest.MonkeyPatch, failure: Exception, detail: str
) -> None:
    async def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(agent_calls, "task_result", fail)
    path = path_of("result", await create_task(site.platform, host))
    status, problem = await compare(host, path, json.dumps(RESULT).encode())
    assert (status, problem["code"]) == (503, "unavailable")
    assert detail in problem["detail"]
    assert len(taken) == 1


async def test_what_is_unusual_goes_the_documented_way(site: Site, host: Host, taken: list[str]) -> None:
    body = json.dumps(RESULT).encode()
    task_id = await create_task(site.platform, host)
    for path in (f"/tasks/{task_id}/result?x=1", "/tasks/tsk_1/result"):
        answer = await send(host, path, body, DIRECT)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert (await send(host, f"/tasks/{task_id}/result", body, None)).status_code == 422
    assert (await host.client.get(f"/agent/tasks/{task_id}/result")).status_code == 405
    assert taken == []


def test_every_direct_route_is_a_documented_one(site: Site) -> None:
    documented = site.client._transport.app.openapi()["paths"]  # type: ignore[attr-defined]
    for route in DIRECT_ROUTES:
        path = f"/api/v1{route.path.removeprefix('/api/v1')}"
        assert documented[path][route.method.lower()]["operationId"] == route.endpoint.__name__
