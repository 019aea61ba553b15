"""A node's key has an end: its agent brings in the next one in time, or an operator lets it come back."""

import base64
from datetime import datetime, timedelta

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.housekeeping import machine as housekeeping
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.nodes import node_keys
from tests_support.agents import Host, Json, MovableClock, Site, inventory, serving, slot

PREFIX = b"gpuaas-node-key-v1\n"


def wish(new: Ed25519PrivateKey, node_id: str) -> Json:
    return {
        "public_key": base64.b64encode(new.public_key().public_bytes_raw()).decode(),
        "proof": base64.b64encode(new.sign(PREFIX + node_id.encode())).decode(),
    }


async def rotate(host: Host, new: Ed25519PrivateKey) -> httpx.Response:
    return await host.call("POST", "/key", wish(new, host.node_id))


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


async def test_a_new_key_replaces_the_old_one_after_an_overlap(site: Site, clock: MovableClock, host: Host) -> None:
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
        assert await works(host, method) == ""  # its last calls are under way
    [row] = (await site.admin.get("/audit?action=agent_key_rotate"))["items"]
    assert row["details"] == {"key_generation": 2}
    clock.ahead += node_keys.OVERLAP + timedelta(seconds=1)
    for method in ("GET", "POST"):
        assert await works(host, method) == "agent_signature_invalid"
    host.key = new
    assert await works(host) == ""


async def test_a_lost_answer_is_asked_for_again_and_an_old_key_brings_in_no_other(host: Host) -> None:
    old, new = host.key, Ed25519PrivateKey.generate()
    first = await rotate(host, new)
    again = await rotate(host, new)
    assert (first.json(), again.status_code) == (again.json(), 200)
    thief = await rotate(host, Ed25519PrivateKey.generate())
    assert (thief.status_code, thief.json()["code"]) == (401, "agent_signature_invalid")
    host.key = new
    assert await works(host) == ""
    back = await rotate(host, old)
    assert back.json()["key_generation"] == 3


async def test_a_key_is_brought_in_only_with_its_private_side(host: Host) -> None:
    body = wish(Ed25519PrivateKey.generate(), host.node_id)
    body["proof"] = wish(Ed25519PrivateKey.generate(), host.node_id)["proof"]
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
        clock.ahead = node_keys.OVERLAP + timedelta(seconds=1)
        assert await works(elsewhere) == "agent_signature_invalid"
        elsewhere.key = new
        assert await works(elsewhere) == ""


async def test_keys_that_ended_or_are_late_are_counted(site: Site, clock: MovableClock, host: Host) -> None:
    async def counted() -> tuple[float, float]:
        async with site.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await housekeeping.HousekeepingMachine(site.platform).apply(
                tx, "platform", housekeeping.cutoffs(site.platform.settings, tx.now)
            )
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
