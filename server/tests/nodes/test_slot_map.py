"""The fleet as a picture needs it, and what a slot and a node say may be done with them."""

from gpuaas_server.capacity import service as capacity
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Site, inventory, slot
from tests_support.fleet import claim, make_fleet

ACTOR = system_actor("test", "correlation-of-a-test")


async def test_the_map_shows_every_gpu_of_every_node_page_by_page(site: Site) -> None:
    hosts = [await site.host() for _ in range(3)]
    for host in hosts:
        assert (await host.call("POST", "/inventory", inventory(slot(0), slot(1)))).status_code == 200
    await site.admin.post(f"/nodes/{hosts[0].node_id}/slots/approve", {})
    first = await site.admin.get("/slot-map?limit=2")
    rest = await site.admin.get(f"/slot-map?limit=2&after={first['next_cursor']}")
    assert rest["next_cursor"] is None
    found = {node["id"]: [one["status"] for one in node["slots"]] for node in [*first["items"], *rest["items"]]}
    assert found == {
        hosts[0].node_id: ["available", "available"],
        hosts[1].node_id: ["discovered", "discovered"],
        hosts[2].node_id: ["discovered", "discovered"],
    }


async def test_the_map_can_be_asked_for_nodes_with_a_slot_in_one_status(site: Site) -> None:
    hosts = [await site.host() for _ in range(2)]
    for host in hosts:
        await host.call("POST", "/inventory", inventory(slot(0), slot(1)))
    listed = (await site.admin.get(f"/nodes/{hosts[1].node_id}/slots"))["items"]
    await site.admin.post(f"/slots/{listed[0]['id']}/disable", {"reason": "it overheats"})
    found = (await site.admin.get("/slot-map?status=disabled"))["items"]
    assert [node["id"] for node in found] == [hosts[1].node_id]
    assert found[0]["slots"][0]["status_reason"] == "it overheats"


async def test_a_retired_node_is_not_on_the_map(site: Site) -> None:
    host = await site.host()
    await host.call("POST", "/inventory", inventory(slot(0)))
    await site.admin.post(f"/nodes/{host.node_id}/drain", {"reason": "end of life"})
    await site.admin.post(f"/nodes/{host.node_id}/retire", {"reason": "end of life"})
    assert (await site.admin.get("/slot-map"))["items"] == []


async def test_approval_is_offered_while_something_waits_for_it(site: Site) -> None:
    host = await site.host()
    path = f"/nodes/{host.node_id}"
    assert "slot_approve" not in (await site.admin.get(path))["allowed_actions"]
    await host.call("POST", "/inventory", inventory(slot(0)))
    assert "slot_approve" in (await site.admin.get(path))["allowed_actions"]
    await site.admin.post(f"{path}/slots/approve", {})
    assert "slot_approve" not in (await site.admin.get(path))["allowed_actions"]


async def test_a_slot_says_what_may_be_done_with_it(site: Site) -> None:
    host = await site.host()
    await host.call("POST", "/inventory", inventory(slot(0)))
    listed = (await site.admin.get(f"/nodes/{host.node_id}/slots"))["items"]
    assert listed[0]["allowed_actions"] == ["slot_disable"]
    disabled = await site.admin.post(f"/slots/{listed[0]['id']}/disable", {"reason": "it overheats"})
    assert disabled["allowed_actions"] == ["slot_enable"]


async def test_the_map_says_who_holds_a_gpu_and_a_whole_host_holds_all_of_them(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    (part, indexes), (whole, _) = [
        (await claim(platform, request))[0] for request in (fleet.request(2), fleet.request(8, whole=True))
    ]
    async with platform.database.connection(PLATFORM) as connection:
        found = await capacity.slot_map(connection, fleet.nodes)
    holders = {one.allocation_id for slots in found.values() for one in slots}
    assert holders == {part, whole, None}
    for slots in found.values():
        claimed = [one.slot_index for one in slots if one.allocation_id]
        assert claimed in (indexes, list(range(8)))
        assert all((one.status == "claimed") == (one.allocation_id is not None) for one in slots)


async def test_a_tenant_learns_which_gpus_are_theirs_also_when_they_have_given_them_back(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    (allocation, indexes), (other, _) = [(await claim(platform, fleet.request(size)))[0] for size in (2, 3)]
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        tx.audited = True
        await capacity.claims_end(tx, allocation, fleet.nodes[0])
    async with platform.database.connection(PLATFORM) as connection:
        found = await capacity.gpus_beside(connection, allocation, fleet.nodes[0])
    assert [gpu.slot_index for gpu in found] == list(range(8))
    assert [gpu.slot_index for gpu in found if gpu.claimed] == indexes
    assert other not in str(found)
