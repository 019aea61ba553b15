"""Refused agent messages: written down with the node and the reason, never the token; strangers cannot crowd out agents."""

import json
import secrets
from datetime import timedelta

import pytest

from gpuaas_server.kernel.ids import new_id
from gpuaas_server.nodes import gate
from tests_support.agents import Host, MovableClock, Site


async def denials(site: Site) -> list[tuple[str, str | None, str, str]]:
    rows = (await site.admin.get("/audit?outcome=denied&limit=200"))["items"]
    return [(row["action"], row["resource_id"], row["details"]["why"], row["address"]) for row in reversed(rows)]


async def test_a_bad_and_a_used_enrolment_token_are_denials_without_the_token(site: Site) -> None:
    made_up, token = "x" * 43, await site.token()
    await Host(site.client).enrol(made_up)
    await Host(site.client).enrol(token)
    await Host(site.client).enrol(token)
    assert await denials(site) == [
        ("agent_enrol", None, "enrolment_token_invalid", "192.0.2.1"),
        ("agent_enrol", None, "enrolment_token_used", "192.0.2.1"),
    ]
    trail = json.dumps(await site.admin.get("/audit"))
    assert made_up not in trail
    assert token not in trail


async def test_a_replayed_message_a_wrong_clock_and_a_bad_signature_name_the_node_that_was_claimed(site: Site) -> None:
    host, thief = await site.host(), Host(site.client)
    nonce = secrets.token_hex(16)
    for _ in range(2):
        await host.call("GET", "/tasks?wait=0", nonce=nonce)
    await host.call("GET", "/tasks?wait=0", ts_ms=1_600_000_000_000)
    thief.node_id = host.node_id
    await thief.call("GET", "/tasks?wait=0")
    thief.node_id = nobody = new_id("nod")
    await thief.call("GET", "/tasks?wait=0")
    assert await denials(site) == [
        ("agent_task_poll", host.node_id, "agent_replay", "192.0.2.1"),
        ("agent_task_poll", host.node_id, "agent_clock_skew", "192.0.2.1"),
        ("agent_task_poll", host.node_id, "agent_signature_invalid", "192.0.2.1"),
        ("agent_task_poll", nobody, "agent_signature_invalid", "192.0.2.1"),
    ]


async def test_a_retired_node_is_denied_when_it_polls_and_when_it_reports(site: Site) -> None:
    host = await site.host()
    await site.admin.post(f"/nodes/{host.node_id}/retire", {"reason": "sold"})
    assert (await host.call("GET", "/tasks?wait=0")).status_code == 403
    assert (await host.call("POST", "/inventory", {})).status_code == 403
    assert await denials(site) == [
        ("agent_task_poll", host.node_id, "node_retired", "192.0.2.1"),
        ("agent_inventory", host.node_id, "node_retired", "192.0.2.1"),
    ]


async def test_a_task_of_another_node_is_a_denial(site: Site) -> None:
    host, other = await site.host(), await site.host("host-2", "10.0.0.2")
    task = await site.admin.post(f"/nodes/{other.node_id}/discover")
    answer = await host.report({"task_id": task["id"], "generation": task["generation"]})
    assert answer.json()["code"] == "task_not_found"
    (row,) = (await site.admin.get("/audit?outcome=denied"))["items"]
    assert (row["actor_id"], row["resource_id"]) == (host.node_id, task["id"])


async def test_refused_enrolments_run_into_a_limit_that_good_ones_do_not_count_for(
    site: Site, clock: MovableClock
) -> None:
    limit = site.platform.settings.enrolment_rate_per_minute
    tokens = [await site.token() for _ in range(3)]
    for token in tokens[:2]:
        assert (await Host(site.client, clock=clock).enrol(token)).status_code == 200
    clock.ahead += timedelta(seconds=60 - clock().second)  # a minute of our own
    answers = [await Host(site.client, clock=clock).enrol("x" * 43) for _ in range(limit + 2)]
    assert [answer.status_code for answer in answers] == [401] * (limit + 1) + [429]
    assert answers[-1].json()["code"] == "rate_limited"
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    assert (await Host(site.client, clock=clock).enrol(tokens[2])).status_code == 429
    clock.ahead += timedelta(minutes=1)
    assert (await Host(site.client, clock=clock).enrol(tokens[2])).status_code == 200


async def test_a_refused_enrolment_does_not_count_against_signing_in(site: Site) -> None:
    for _ in range(site.platform.settings.login_rate_per_minute + 2):
        await Host(site.client).enrol("x" * 43)
    grant = {"grant_type": "password", "username": "nobody@gpuaas.local", "password": "wrong"}
    assert (await site.client.post("/auth/token", json=grant)).json()["code"] == "bad_credentials"


async def test_strangers_cannot_push_an_agents_nonces_out_of_the_memory(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MOST_NONCES", 4)
    host, nonce = await site.host(), secrets.token_hex(16)
    await host.call("GET", "/tasks?wait=0", nonce=nonce)
    for _ in range(12):
        await Host(site.client).enrol("x" * 43)
    again = await host.call("GET", "/tasks?wait=0", nonce=nonce)
    assert again.json()["code"] == "agent_replay"


async def test_a_nonce_is_spent_with_a_good_enrolment_and_by_no_other(site: Site) -> None:
    host, nonce, token = Host(site.client), secrets.token_hex(16), await site.token()
    assert (await host.enrol("x" * 43, nonce=nonce)).json()["code"] == "enrolment_token_invalid"
    assert (await host.enrol(token, nonce=nonce)).status_code == 200
    assert (await host.enrol(token, nonce=nonce)).json()["code"] == "agent_replay"
