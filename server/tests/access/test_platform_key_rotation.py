"""Rotating and retiring the platform's keys over HTTP, and what hosts and agents learn of it."""

from datetime import timedelta

import pytest

from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Json, MovableClock, Site, inventory, slot, ssh_line
from tests_support.select import select

WHY = {"reason": "the yearly rotation"}


async def living(site: Site, kind: str) -> list[str]:
    """Newest first."""
    items = (await site.admin.get("/platform-keys"))["items"]
    return [key["id"] for key in items if key["kind"] == kind and key["retired_at"] is None]


async def known_to_agents(site: Site) -> Json:
    host = await site.host()
    body = {
        "agent_version": "0.1.0",
        "boot_id": "a" * 32,
        "address": "10.0.0.1",
        "ssh_host_public_key": ssh_line(),
        "allocations": [],
    }
    answer = await host.call("POST", "/heartbeat", body)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


@pytest.mark.parametrize("kind", ["task_signing", "ssh_user_ca", "ssh_host_ca"])
async def test_a_key_is_replaced_without_a_gap(site: Site, clock: MovableClock, kind: str) -> None:
    await site.host()  # an enrolled agent has met every kind
    await site.admin.get("/ssh-ca")
    [old] = await living(site, kind)
    new = (await site.admin.post("/platform-keys/rotate", {"kind": kind, **WHY}))["id"]
    assert await living(site, kind) == [new, old]
    early = await site.admin.call("POST", f"/platform-keys/{old}/retire", WHY)
    assert (early.status_code, "signs yet" in early.json()["detail"]) == (409, True)
    clock.ahead = timedelta(minutes=10)
    retired = await site.admin.post(f"/platform-keys/{old}/retire", WHY)
    assert retired["retired_at"] is not None
    assert await living(site, kind) == [new]
    for key in (old, new):  # twice, or the last one
        assert (await site.admin.call("POST", f"/platform-keys/{key}/retire", WHY)).status_code == 409


async def test_agents_receive_new_keys_with_the_heartbeat(site: Site) -> None:
    before = await known_to_agents(site)
    for kind in ("task_signing", "ssh_user_ca", "ssh_host_ca"):
        await site.admin.post("/platform-keys/rotate", {"kind": kind, **WHY})
    after = await known_to_agents(site)
    for name in ("task_keys", "user_ca_keys", "host_ca_keys"):
        assert len(after[name]) == len(before[name]) + 1


async def test_hosts_of_live_allocations_receive_the_authorities_to_trust(site: Site, clock: MovableClock) -> None:
    host = await site.host()
    await host.call("POST", "/inventory", inventory(slot(0)))
    await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
    tenant = (await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"}))["id"]
    project = (await site.admin.post(f"/tenants/{tenant}/projects", {"slug": "train", "name": "Train"}))["id"]
    sku = {"name": "h100", "shape": "gpu_slice", "gpu_model": slot(0)["gpu_model"], "gpu_counts": [1]}
    await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 200, "currency": "EUR"})
    await site.admin.post(f"/projects/{project}/allocations", {"sku": "h100", "gpu_count": 1})

    async def wanted() -> int:
        async with site.platform.database.connection(PLATFORM) as connection:
            row = await (await select(connection, "SELECT access_wanted FROM allocations")).fetchone()
        assert row is not None
        return int(row["access_wanted"])

    [old] = await living(site, "ssh_user_ca")
    await site.admin.post("/platform-keys/rotate", {"kind": "task_signing", **WHY})
    assert await wanted() == 0
    await site.admin.post("/platform-keys/rotate", {"kind": "ssh_user_ca", **WHY})
    assert await wanted() == 1
    clock.ahead = timedelta(minutes=10)
    await site.admin.post(f"/platform-keys/{old}/retire", WHY)
    assert await wanted() == 2


async def test_the_list_shows_public_sides_only(site: Site) -> None:
    await site.host()
    items = (await site.admin.get("/platform-keys"))["items"]
    fields = {"id", "kind", "state", "public_key", "fingerprint", "certificate", "signs_from", "created_at"}
    fields |= {"retired_at", "custody", "secret_key_id", "unconfirmed"}
    assert all(set(item) == fields for item in items)
    assert "PRIVATE" not in str(items)


async def test_the_reason_is_kept_and_nonsense_is_refused(site: Site) -> None:
    await site.admin.post("/platform-keys/rotate", {"kind": "task_signing", **WHY})
    [row] = (await site.admin.get("/audit?action=platform_key_rotate"))["items"]
    assert row["reason"] == WHY["reason"]
    for body in ({"kind": "task_signing"}, {"kind": "tls_ca"}, {"kind": "all", **WHY}):
        assert (await site.admin.call("POST", "/platform-keys/rotate", body)).status_code == 422
    missing = "/platform-keys/pky_01m7f81xahe0h8q54rrqq04p0d/retire"
    assert (await site.admin.call("POST", missing, WHY)).status_code == 404
