"""What operators see and do, inventories, and the heartbeat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.nodes.status import NodeState, node_status, possible_actions
from tests_support.agents import Host, Json, Site, inventory, slot, ssh_line


def heartbeat(**more: object) -> Json:
    return {
        "agent_version": "0.1.0",
        "boot_id": "b-1",
        "address": "10.0.0.1",
        "ssh_host_public_key": ssh_line(),
        "allocations": [],
        **more,
    }


@given(st.builds(NodeState, *[st.booleans()] * 6))
def test_what_a_node_allows_follows_from_its_state(state: NodeState) -> None:
    actions = possible_actions(state)
    assert (node_status(state) == "retired") == (actions == [])
    assert not (state.claimed and "node_retire" in actions)
    if not state.retired:
        assert ("node_uncordon" in actions) == state.cordoned


async def test_an_approved_node_is_ready_and_a_cordoned_one_takes_nothing_new(site: Site) -> None:
    host = await site.host()
    path = f"/nodes/{host.node_id}"
    assert (await host.call("POST", "/inventory", inventory(slot(0), slot(1)))).status_code == 200
    node = await site.admin.get(path)
    assert (node["status"], node["slots"]["discovered"]) == ("enrolled", 2)
    await site.admin.post(f"{path}/slots/approve", {})
    node = await site.admin.get(path)
    assert (node["status"], node["schedulable"], node["inventory"]["host"]["cpus"]) == ("ready", True, 64)
    node = await site.admin.post(f"{path}/cordon", {"reason": "replace a fan"})
    assert (node["schedulable"], node["maintenance"]["reason"]) == (False, "replace a fan")
    assert "node_uncordon" in node["allowed_actions"]
    assert (await site.admin.call("POST", f"{path}/cordon", {"reason": "again"})).json()["code"] == "conflict"
    node = await site.admin.post(f"{path}/uncordon")
    assert (node["schedulable"], node["maintenance"]) == (True, None)
    for status, count in (("ready", 1), ("enrolled", 0), ("lost", 0), ("retired", 0)):
        assert len((await site.admin.get(f"/nodes?status={status}"))["items"]) == count


async def test_a_drained_node_can_be_retired_and_then_nothing_more(site: Site) -> None:
    host = await site.host()
    path = f"/nodes/{host.node_id}"
    node = await site.admin.post(f"{path}/drain", {"reason": "end of life"})
    assert (node["draining"], node["drained"]) == (True, True)
    node = await site.admin.post(f"{path}/retire", {"reason": "end of life"})
    assert (node["status"], node["allowed_actions"]) == ("retired", [])
    answer = await site.admin.call("POST", f"{path}/discover")
    assert answer.json()["code"] == "conflict"


async def test_a_node_whose_gpus_vanished_under_a_tenant_is_not_drained(site: Site, platform: Platform) -> None:
    host = await site.host()
    path = f"/nodes/{host.node_id}"
    await host.call("POST", "/inventory", inventory(slot(0)))
    await site.admin.post(f"{path}/slots/approve", {})
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, lane, claimed_at)"
            " VALUES (%s, %s, %s, %s, 'node_exclusive', '(,)', now())",
            (new_id("clm"), new_id("tnt"), new_id("alc"), host.node_id),
        )
    assert (await host.call("POST", "/inventory", inventory())).status_code == 200
    node = await site.admin.post(f"{path}/drain", {"reason": "it lost its GPUs"})
    assert (node["draining"], node["drained"], node["slots"]["total"]) == (True, False, 0)
    assert "node_retire" not in node["allowed_actions"]
    answer = await site.admin.call("POST", f"{path}/retire", {"reason": "it lost its GPUs"})
    assert answer.json()["code"] == "node_busy"


async def test_every_change_is_audited_and_told(site: Site) -> None:
    host = await site.host()
    path = f"/nodes/{host.node_id}"
    await site.admin.post(f"{path}/cordon", {"reason": "replace a fan"})
    await site.admin.post(f"{path}/uncordon")
    await site.admin.post(f"{path}/discover")
    trail = await site.admin.get(f"/audit?resource_id={host.node_id}")
    actions = [row["action"] for row in trail["items"]]
    assert actions == ["node_discover", "node_uncordon", "node_cordon", "agent_enrol"]
    told = await site.admin.get(f"/events?subject={host.node_id}")
    assert [event["type"] for event in told["items"]] == ["node.enrolled", "node.cordoned", "node.uncordoned"]


async def test_a_name_is_changed_once_and_not_taken_twice(site: Site) -> None:
    host, _ = await site.host(), await site.host("host-2", "10.0.0.2")
    path = f"/nodes/{host.node_id}"
    answer = await site.admin.call("PATCH", path, {"name": "rack 1 top", "labels": {"rack": "1"}})
    assert answer.json()["labels"] == {"rack": "1"}
    assert (await site.admin.call("PATCH", path, {"name": "host-2"})).json()["code"] == "already_exists"
    stale = await site.admin.call("PATCH", path, {"name": "x"}, if_match=1)
    assert stale.json()["code"] == "precondition_failed"


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (inventory(slot(0), slot(0, pci_address="0000:99:00.0", gpu_uuid="GPU-x")), "inventory_invalid"),
        (inventory(slot(0), slot(1, pci_address="0000:00:00.0")), "inventory_invalid"),
        (inventory(slot(0, pci_address="0000:AB:00.0"), slot(1, pci_address="0000:ab:00.0")), "inventory_invalid"),
        (inventory(slot(0), slot(1, gpu_uuid="GPU-0")), "inventory_invalid"),
        (inventory(*(slot(n) for n in range(65))), "invalid_request"),
        (inventory(slot(0, gpu_model="H100\x00")), "invalid_request"),
        (inventory(slot(0, gpu_model="")), "invalid_request"),
        (inventory(slot(0, pci_address="../../etc")), "invalid_request"),
        (inventory(slot(-1)), "invalid_request"),
        (inventory(slot(0, memory_mib=2**40)), "invalid_request"),
        (inventory(slot(0, surprise=1)), "invalid_request"),
        ({}, "invalid_request"),
        ([], "invalid_request"),
    ],
)
async def test_an_inventory_that_cannot_be_true_changes_nothing(site: Site, document: object, code: str) -> None:
    host = await site.host()
    answer = await host.call("POST", "/inventory", document)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["slots"]["total"] == 0


async def test_the_same_inventory_again_changes_nothing(site: Site) -> None:
    host = await site.host()
    for _ in range(2):
        assert (await host.call("POST", "/inventory", inventory(slot(0)))).status_code == 200
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["generation"] == 2


async def test_a_heartbeat_renews_trust_and_tells_of_a_reboot(site: Site) -> None:
    host = await site.host()
    first = heartbeat()
    answer = await host.call("POST", "/heartbeat", first)
    assert answer.status_code == 200, answer.text
    assert answer.json()["task_keys"]
    generation = (await site.admin.get(f"/nodes/{host.node_id}"))["generation"]
    await host.call("POST", "/heartbeat", first)
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["generation"] == generation
    await host.call("POST", "/heartbeat", first | {"boot_id": "b-2"})
    told = await site.admin.get(f"/events?subject={host.node_id}")
    assert told["items"][-1]["type"] == "node.rebooted"


@pytest.mark.parametrize(
    "change",
    [{"address": "a b"}, {"boot_id": ""}, {"ssh_host_public_key": "x"}, {"allocations": [{"allocation_id": "x"}]}],
)
async def test_a_senseless_heartbeat_is_refused(site: Site, change: Json) -> None:
    host: Host = await site.host()
    assert (await host.call("POST", "/heartbeat", heartbeat(**change))).status_code == 422
