"""GPUs move, vanish and are replaced: an inventory never fails for it, and nothing unapproved reaches the pool."""

from dataclasses import replace

import pytest

from gpuaas_server.capacity import service
from gpuaas_server.capacity.schemas import Slot, SlotApprove
from gpuaas_server.capacity.service import DiscoveredSlot
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from tests_support.fleet import ACTOR, claim, eight_gpus, give_back, make_fleet


async def report(platform: Platform, node_id: str, slots: list[DiscoveredSlot]) -> dict[str, Slot]:
    """Apply an inventory; the slots by PCI address."""
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.inventory_apply(tx, node_id, slots)
        return {slot.pci_address: slot for slot in (await service.slot_list(tx.connection, node_id)).items}


async def test_a_gpu_may_take_the_index_of_one_that_is_gone(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    gpus = eight_gpus()
    moved = [replace(gpus[0], pci_address="0000:ff:00.0"), *gpus[1:]]
    found = await report(platform, fleet.nodes[0], moved)
    assert (found["0000:00:00.0"].present, found["0000:00:00.0"].slot_index) == (False, 0)
    assert (found["0000:ff:00.0"].status, found["0000:ff:00.0"].slot_index) == ("discovered", 0)


async def test_gpus_may_swap_their_indexes(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    gpus = eight_gpus()
    swapped = [replace(gpu, slot_index=7 - gpu.slot_index) for gpu in gpus]
    found = await report(platform, fleet.nodes[0], swapped)
    assert {slot.status for slot in found.values()} == {"available"}
    assert found["0000:00:00.0"].slot_index == 7


async def test_a_claimed_gpu_that_was_renumbered_blocks_no_other_slot(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    await claim(platform, fleet.request(1))
    gpus = eight_gpus()
    await report(platform, fleet.nodes[0], [replace(gpu, slot_index=(gpu.slot_index + 1) % 8) for gpu in gpus])
    placed = [await claim(platform, fleet.request(1)) for _ in range(7)]
    assert sorted(slots[0] for ((_, slots),) in placed) == [0, 2, 3, 4, 5, 6, 7]
    with pytest.raises(Problem, match="no_capacity"):
        await claim(platform, fleet.request(1))


async def test_a_gpu_that_was_replaced_under_a_tenant_waits_for_approval_when_the_tenant_goes(
    platform: Platform,
) -> None:
    fleet = await make_fleet(platform, 1)
    ((allocation_id, _),) = await claim(platform, fleet.request(1))
    gpus = eight_gpus()
    found = await report(platform, fleet.nodes[0], [replace(gpus[0], gpu_uuid="GPU-new"), *gpus[1:]])
    assert found["0000:00:00.0"].status == "claimed"
    await give_back(platform, allocation_id, 1)
    found = await report(platform, fleet.nodes[0], [replace(gpus[0], gpu_uuid="GPU-new"), *gpus[1:]])
    assert found["0000:00:00.0"].status == "discovered"
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.slot_approve(tx, fleet.nodes[0], SlotApprove())
    assert len(await claim(platform, fleet.request(8))) == 1


async def test_a_gpu_that_was_replaced_while_disabled_waits_for_approval_when_enabled(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    gpus = eight_gpus()
    slot_id = (await report(platform, fleet.nodes[0], gpus))["0000:00:00.0"].id
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.slot_disable(tx, slot_id, "it overheats")
    await report(platform, fleet.nodes[0], [replace(gpus[0], gpu_uuid="GPU-new"), *gpus[1:]])
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        assert (await service.slot_enable(tx, slot_id)).status == "discovered"


CHANGES = [{"nvme_device": None}, {"nvme_device": "nvme9n1"}, {"vf": None}, {"vf": {"mac": "02:00:00:00:00:99"}}]


def with_drives() -> list[DiscoveredSlot]:
    return [replace(gpu, nvme_device=f"nvme{gpu.slot_index}n1", vf={"index": gpu.slot_index}) for gpu in eight_gpus()]


async def approve(platform: Platform, node_id: str) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.slot_approve(tx, node_id, SlotApprove())


@pytest.mark.parametrize("change", CHANGES)
async def test_a_slot_whose_drive_or_network_function_changed_waits_for_approval(
    platform: Platform, change: dict[str, object]
) -> None:
    fleet = await make_fleet(platform, 1)
    node = fleet.nodes[0]
    gpus = with_drives()
    await report(platform, node, gpus)
    await approve(platform, node)
    found = await report(platform, node, [replace(gpus[0], **change), *gpus[1:]])  # type: ignore[arg-type]
    assert {slot.status for slot in found.values()} == {"available", "discovered"}
    assert found["0000:00:00.0"].status == "discovered"
    with pytest.raises(Problem, match="capacity"):
        await claim(platform, fleet.request(8))
    await approve(platform, node)
    assert len(await claim(platform, fleet.request(8))) == 1


@pytest.mark.parametrize("change", CHANGES)
async def test_a_claimed_slot_keeps_the_drive_that_was_approved(platform: Platform, change: dict[str, object]) -> None:
    """What the wipe must erase is not the tenant's to say."""
    fleet = await make_fleet(platform, 1)
    node = fleet.nodes[0]
    gpus = with_drives()
    await report(platform, node, gpus)
    await approve(platform, node)
    ((allocation_id, _),) = await claim(platform, fleet.request(1))
    stripped = [replace(gpus[0], **change), *gpus[1:]]  # type: ignore[arg-type]
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        assert not await service.inventory_apply(tx, node, stripped)
    found = (await report(platform, node, stripped))["0000:00:00.0"]
    assert (found.status, found.nvme_device) == ("claimed", "nvme0n1")
    await give_back(platform, allocation_id, 1)
    found = (await report(platform, node, stripped))["0000:00:00.0"]
    assert (found.status, found.nvme_device) == ("discovered", change.get("nvme_device", "nvme0n1"))
