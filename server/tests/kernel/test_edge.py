"""The edge of the API: correlation, trace, limits, and garbage of every kind, each answered with a problem document."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import agents
from tests_support.agents import Site

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as opened:
        yield opened


async def send(
    site: Site, body: bytes | AsyncIterator[bytes], path: str = "/tenants", **headers: str
) -> httpx.Response:
    given = {"Authorization": f"Bearer {site.admin.token}", "Content-Type": "application/json", **headers}
    return await site.client.post(path, content=body, headers=given)


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    problem = answer.json()
    assert (problem["code"], problem["status"]) == (code, status)
    assert problem["next_step"]
    assert problem["correlation_id"] == answer.headers["X-Correlation-ID"]


async def test_a_callers_correlation_id_and_trace_come_back(site: Site) -> None:
    headers = {"X-Correlation-ID": "my-own-id-1", "traceparent": TRACE}
    answer = await site.client.get("/auth/jwks", headers=headers)
    assert answer.headers["X-Correlation-ID"] == "my-own-id-1"
    assert answer.headers["traceparent"] == TRACE


async def test_a_correlation_id_that_is_not_one_is_replaced(site: Site) -> None:
    for bad in ("short", "x" * 129, "with blank", "ünïcode-ünïcode", "semi;colon;semi"):
        answer = await site.client.get("/auth/jwks", headers=[(b"X-Correlation-ID", bad.encode())])
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Correlation-ID"]), bad


async def test_a_trace_that_is_not_one_is_replaced_and_names_the_correlation(site: Site) -> None:
    for bad in ("", "00-abc", TRACE.upper(), "01" + TRACE[2:]):
        answer = await site.client.get("/auth/jwks", headers={"traceparent": bad})
        assert answer.headers["traceparent"] != bad
        assert answer.headers["traceparent"][3:35] == answer.headers["X-Correlation-ID"]


async def test_the_correlation_id_is_on_the_audit_row_of_the_change(site: Site) -> None:
    answer = await send(site, b'{"slug": "acme", "name": "Acme"}', **{"X-Correlation-ID": "found-again-1"})
    assert answer.status_code == 201
    trail = await site.admin.get("/audit?correlation_id=found-again-1")
    assert [record["action"] for record in trail["items"]] == ["tenant_create"]


async def test_a_body_that_says_it_is_too_large_is_not_read(site: Site) -> None:
    assert_problem(await send(site, b" " * 1_048_577), 413, "body_too_large")


async def test_a_body_that_turns_out_too_large_is_refused_on_the_way(site: Site) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * 65_536

    assert_problem(await send(site, endless()), 413, "body_too_large")


async def test_a_body_that_lies_about_its_length_is_refused_on_the_way(site: Site) -> None:
    answer = await send(site, b" " * 2_000_000, **{"Content-Length": "10"})
    assert_problem(answer, 413, "body_too_large")


NOT_JSON = [
    b"{",
    b"",
    b"nonsense",
    b'{"slug": }',
    b"\xff\xfe\x00",
    b'{"a": 1}{"b": 2}',
    b"[" * 100_000,
    b'{"n": ' + b"9" * 5000 + b"}",
]


async def test_what_is_not_json_is_malformed(site: Site) -> None:
    for body in NOT_JSON:
        answer = await send(site, body)
        assert answer.status_code in (400, 422), answer.text
        assert_problem(answer, answer.status_code, {400: "malformed_body", 422: "invalid_request"}[answer.status_code])


WRONG_FORM = [
    b"[]",
    b"null",
    b'"text"',
    b"1",
    b'{"slug": "acme"}',
    b'{"slug": "acme", "name": "Acme", "extra": 1}',
    b'{"slug": "acme", "name": "Acme", "\\ud800": 1}',
    b'{"slug": 1, "name": "Acme"}',
    b'{"slug": "acme", "name": ["Acme"]}',
    b'{"slug": "acme", "name": null}',
    b'{"slug": "acme", "name": "A\\u0000b"}',
    b'{"slug": "acme", "name": "A\\ud800b"}',
    b'{"slug": "acme", "name": "' + b"x" * 101 + b'"}',
    b'{"slug": "acme\\n", "name": "Acme"}',
    b'{"slug": "acme", "name": NaN}',
    b'{"slug": "acme", "name": 1e999}',
    b'{"slug": "acme", "name": ' + b"9" * 4000 + b"}",
]


async def test_a_body_of_the_wrong_form_is_refused_and_nothing_is_made(site: Site) -> None:
    for body in WRONG_FORM:
        assert_problem(await send(site, body), 422, "invalid_request")
    assert (await site.admin.get("/tenants"))["items"] == []


async def test_a_refusal_names_the_fields(site: Site) -> None:
    problem = (await send(site, b'{"slug": "Bad Slug", "nmae": "x"}')).json()
    assert {field["where"] for field in problem["details"]["fields"]} == {"body.slug", "body.name", "body.nmae"}


async def test_a_body_that_is_not_declared_json_is_refused(site: Site) -> None:
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"]:
        answer = await send(site, b'{"slug": "acme", "name": "Acme"}', **{"Content-Type": media_type})
        assert answer.status_code in (415, 422)
        assert (await site.admin.get("/tenants"))["items"] == []


async def test_an_address_that_leads_nowhere_is_not_found(site: Site) -> None:
    for path in ["/nowhere", "/tenants/x/y/z", "/%00", "/tenants/%ff%fe", "/tenants/../../etc/passwd"]:
        answer = await site.client.get(path, headers={"Authorization": f"Bearer {site.admin.token}"})
        assert answer.status_code in (404, 422)
        assert_problem(answer, answer.status_code, {404: "not_found", 422: "invalid_request"}[answer.status_code])


async def test_a_method_that_is_not_offered_is_told_which_are(site: Site) -> None:
    answer = await site.client.delete("/tenants", headers={"Authorization": f"Bearer {site.admin.token}"})
    assert_problem(answer, 405, "method_not_allowed")
    assert sorted(answer.headers["Allow"].replace(" ", "").split(",")) == ["GET", "POST"]


async def test_a_misspelt_parameter_is_refused_instead_of_ignored(site: Site) -> None:
    answer = await site.client.get("/audit?outcom=denied", headers={"Authorization": f"Bearer {site.admin.token}"})
    assert_problem(answer, 422, "invalid_request")
    assert answer.json()["details"]["fields"][0]["where"] == "query.outcom"


async def test_a_page_that_cannot_be_is_refused(site: Site) -> None:
    for query in ["limit=0", "limit=201", "limit=x", "limit=1.5", "after=x", "after=tnt_%00", "limit="]:
        answer = await site.client.get(f"/tenants?{query}", headers={"Authorization": f"Bearer {site.admin.token}"})
        assert_problem(answer, 422, "invalid_request")


async def test_whole_numbers_may_be_written_with_a_point(site: Site) -> None:
    tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
    answer = await site.admin.call("PUT", f"/tenants/{tenant['id']}/quota", {"gpu_limit": 8.0})
    assert (answer.status_code, answer.json()["gpu_limit"]) == (200, 8)
    assert (await site.admin.call("PUT", f"/tenants/{tenant['id']}/quota", {"gpu_limit": 8.5})).status_code == 422


async def test_pages_stay_whole_while_rows_are_added(site: Site) -> None:
    """Newest first: what comes in meanwhile is not on later pages, and nothing is shown twice or left out."""
    first = [(await site.admin.post("/tenants", {"slug": f"t-{n:03d}", "name": "N"}))["id"] for n in range(12)]
    seen: list[str] = []
    after = ""
    while True:
        page = await site.admin.get(f"/tenants?limit=5{after}")
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        after = f"&after={page['next_cursor']}"
        await site.admin.post("/tenants", {"slug": f"later-{len(seen):03d}", "name": "N"})
    assert seen == sorted(first, reverse=True)
