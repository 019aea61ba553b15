"""A node's key has an end: its agent brings in the next one in time, or an operator lets it come back."""

import asyncio
import base64
from datetime import datetime, timedelta

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.housekeeping.jobs import HousekeepingJob
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Host, Json, MovableClock, Site, inventory, serving, slot, ssh_line

PREFIX = b"gpuaas-node-key-v1\n"


def rotation_request(new: Ed25519PrivateKey, node_id: str) -> Json:
    return {
        "public_key": base64.b64encode(new.public_key().public_bytes_raw()).decode(),
        "proof": base64.b64encode(new.sign(PREFIX + node_id.encode())).decode(),
    }


async def rotate(host: Host, new: Ed25519PrivateKey) -> httpx.Response:
    return await host.call("POST", "/key", rotation_request(new, host.node_id))


async def works(host: Host, method: str = "POST") -> str:
    """ "" when a call of the host is admitted, else the code of the refusal."""
    answer = await (
        host.call("GET", "/tasks?wait=0") if method == "GET" else host.call("POST", "/inventory", inventory(slot(0)))
    )
    return "" if answer.status_code == 200 else str(answer.json()["code"])


@pytest.fixture
async def host(site: Site, clock: MovableClock) -> Host:
    found = await site.host()
    found.clock = clock
    return found


async def told(site: Site, kind: str) -> list[Json]:
    items = (await site.admin.get("/events?limit=200"))["items"]
    return [event["data"] for event in items if event["type"] == kind]


async def test_a_new_key_replaces_the_old_one_at_once(site: Site, clock: MovableClock, host: Host) -> None:
    before = await site.admin.get(f"/nodes/{host.node_id}")
    assert before["key_generation"] == 1
    old, new = host.key, Ed25519PrivateKey.generate()
    answer = await rotate(host, new)
    assert (answer.status_code, answer.json()["key_generation"]) == (200, 2)
    assert datetime.fromisoformat(answer.json()["key_expires_at"]) > clock() + timedelta(days=29)
    for method in ("GET", "POST"):
        host.key = new
        assert await works(host, method) == ""
        host.key = old
        assert await works(host, method) == "node_key_replaced"
    [row] = (await site.admin.get("/audit?action=agent_key_rotate"))["items"]
    assert row["details"] == {"key_generation": 2}


async def test_a_lost_answer_is_asked_for_again_by_the_new_key(host: Host) -> None:
    old, new = host.key, Ed25519PrivateKey.generate()
    first = await rotate(host, new)
    late = await rotate(host, new)
    assert (late.status_code, late.json()["code"]) == (401, "node_key_replaced")
    host.key = new
    again = await rotate(host, new)
    assert (first.json(), again.status_code) == (again.json(), 200)
    back = await rotate(host, old)
    assert (back.status_code, back.json()["code"]) == (401, "node_key_replaced")


async def test_the_use_of_a_former_key_is_told_once_for_each_kind_of_call(
    site: Site, clock: MovableClock, host: Host
) -> None:
    old, new = host.key, Ed25519PrivateKey.generate()
    await rotate(host, new)
    host.key = old
    assert await works(host) == "node_key_replaced"
    assert await told(site, "node.former_key_used") == [], "a call that was under way is no thief's"
    clock.ahead = timedelta(minutes=2)
    for _ in range(3):
        for method in ("GET", "POST"):
            assert await works(host, method) == "node_key_replaced"
    found = await told(site, "node.former_key_used")
    assert [(event["call"], event["address"], event["key_generation"]) for event in found] == [
        ("agent_task_poll", "192.0.2.1", 1)
    ]
    rows = (await site.admin.get(f"/audit?resource_id={host.node_id}&limit=100"))["items"]
    denied = [row["action"] for row in rows if row["outcome"] == "denied"]
    assert sorted(denied) == ["agent_inventory", "agent_task_poll"]


async def test_a_key_is_refused_from_where_its_node_is_not(site: Site, host: Host) -> None:
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["source_networks"] == ["192.0.2.1"]
    async with serving(site.platform, "203.0.113.7") as client:
        thief = Host(client, host.key, host.node_id, clock=host.clock)
        for method in ("GET", "POST", "POST"):
            assert await works(thief, method) == "node_key_wrong_network"
        assert (await rotate(thief, Ed25519PrivateKey.generate())).json()["code"] == "node_key_wrong_network"
        assert await works(host) == ""
        found = await told(site, "node.key_used_elsewhere")
        assert {event["address"] for event in found} == {"203.0.113.7"}
        assert sorted(event["call"] for event in found) == ["agent_inventory", "agent_key_rotate", "agent_task_poll"]
        moved = {"source_networks": ["192.0.2.0/24", "203.0.113.7"]}
        answer = await site.admin.call("PATCH", f"/nodes/{host.node_id}", moved)
        assert answer.json()["source_networks"] == ["192.0.2.0/24", "203.0.113.7/32"]
        await asyncio.sleep(1.1)  # a stranger makes us look again at most once a second
        assert await works(thief) == ""


async def test_a_source_that_was_never_recorded_is_recorded_while_no_tenant_is_there(site: Site, host: Host) -> None:
    async with site.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE nodes SET source_networks = NULL")
    facts = {"agent_version": "1", "boot_id": "b", "address": host.address, "ssh_host_public_key": ssh_line()}
    assert (await host.call("POST", "/heartbeat", facts)).status_code == 200
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["source_networks"] == ["192.0.2.1"]


async def test_a_key_is_brought_in_only_with_its_private_side(host: Host) -> None:
    body = rotation_request(Ed25519PrivateKey.generate(), host.node_id)
    body["proof"] = rotation_request(Ed25519PrivateKey.generate(), host.node_id)["proof"]
    answer = await host.call("POST", "/key", body)
    assert (answer.status_code, answer.json()["code"]) == (401, "agent_signature_invalid")


async def test_an_agent_that_was_away_too_long_waits_for_an_operator(
    site: Site, clock: MovableClock, host: Host
) -> None:
    async with site.platform.database.connection(PLATFORM) as connection:  # the administrator's token lives shorter
        await connection.execute("UPDATE nodes SET key_expires_at = now() - interval '1 minute'")
    clock.ahead = timedelta(minutes=11)  # what was remembered of its key is read again
    for method in ("GET", "POST"):
        assert await works(host, method) == "node_key_expired"
    assert (await rotate(host, Ed25519PrivateKey.generate())).json()["code"] == "node_key_expired"
    path, why = f"/nodes/{host.node_id}/key/approve", {"reason": "back from repair"}
    async with site.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE nodes SET lost_since = now()")
    node = await site.admin.get(f"/nodes/{host.node_id}")
    assert "node_key_approve" in node["allowed_actions"]
    approved = await site.admin.post(path, why)
    assert timedelta() < datetime.fromisoformat(approved["key_expires_at"]) - clock() <= timedelta(days=1)
    clock.ahead += timedelta(seconds=2)
    assert await works(host) == ""
    new = Ed25519PrivateKey.generate()
    assert (await rotate(host, new)).status_code == 200
    refused = await site.admin.call("POST", path, why)
    assert refused.status_code == 409, "its key does not end within a day"


async def test_another_replica_hears_of_a_new_key(site: Site, clock: MovableClock, host: Host) -> None:
    async with serving(site.platform) as client:
        elsewhere = Host(client, host.key, host.node_id, clock=clock)
        assert await works(elsewhere) == ""  # it remembers the old key now
        new = Ed25519PrivateKey.generate()
        assert (await rotate(host, new)).status_code == 200
        for method in ("GET", "POST"):
            assert await works(elsewhere, method) == "node_key_replaced"
        elsewhere.key = new
        assert await works(elsewhere) == ""


async def test_keys_that_ended_or_are_late_are_counted(site: Site, clock: MovableClock, host: Host) -> None:
    async def counted() -> tuple[float, float]:
        async with site.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await HousekeepingJob(site.platform).run(tx, "platform")
        return tuple(metrics.node_keys.labels(state)._value.get() for state in ("late", "expired"))  # type: ignore[return-value]

    assert await counted() == (0, 0)
    clock.ahead = timedelta(days=26)
    assert await counted() == (1, 0)
    clock.ahead = timedelta(days=31)
    assert await counted() == (0, 1)


async def test_a_host_that_enrols_again_with_its_key_has_it_for_another_life(
    site: Site, clock: MovableClock, host: Host
) -> None:
    token = await site.token()
    clock.ahead = timedelta(minutes=30)
    answer = await host.enrol(token)
    assert answer.status_code == 200, answer.text
    assert datetime.fromisoformat(answer.json()["key_expires_at"]) > clock() + timedelta(days=29, hours=23)
