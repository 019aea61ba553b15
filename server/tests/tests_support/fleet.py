"""A fleet in the database, for tests of the scheduler on real PostgreSQL."""

from dataclasses import dataclass

from gpuaas_server.capacity import service, skus
from gpuaas_server.capacity.schemas import Sku, SkuCreate, SlotApprove
from gpuaas_server.capacity.service import DiscoveredSlot, PlacementRequest
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support.select import select

MODEL = "NVIDIA H100 80GB HBM3"
ACTOR = system_actor("test", "correlation-of-a-test")
TENANT, PROJECT = new_id("tnt"), new_id("prj")


@dataclass(frozen=True)
class Fleet:
    nodes: list[str]
    slice_sku: Sku
    whole_sku: Sku
    restarted_sku: Sku  # a whole node whose wipe needs a restart

    def request(self, gpu_count: int, count: int = 1, whole: bool = False, restarted: bool = False) -> PlacementRequest:
        sku = self.whole_sku if whole else self.slice_sku
        return PlacementRequest(TENANT, PROJECT, (self.restarted_sku if restarted else sku).id, gpu_count, count)


def eight_gpus() -> list[DiscoveredSlot]:
    return [
        DiscoveredSlot(
            slot_index=i,
            gpu_model=MODEL,
            pci_address=f"0000:{i:02x}:00.0",
            numa_node=i // 4,
            nvlink_group="a" if i < 4 else "b",
        )
        for i in range(8)
    ]


async def make_fleet(platform: Platform, nodes: int) -> Fleet:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        ids = []
        for _ in range(nodes):
            node_id = new_id("nod")
            await service.inventory_apply(tx, node_id, eight_gpus())
            await service.node_eligibility_set(tx, node_id, True)
            await service.slot_approve(tx, node_id, SlotApprove())
            ids.append(node_id)
        price = {"gpu_model": MODEL, "price_per_gpu_hour_minor": 250}
        part = await skus.sku_create(
            tx, SkuCreate(name="h100-slice", shape="gpu_slice", gpu_counts=[1, 2, 3, 4, 5, 6, 7, 8], **price)
        )
        whole = await skus.sku_create(
            tx, SkuCreate(name="h100-node", shape="baremetal", gpu_counts=[4, 5, 7, 8], wipe_grade="inspected", **price)
        )
        restarted = await skus.sku_create(
            tx, SkuCreate(name="h100-restarted", shape="baremetal", gpu_counts=[8], wipe_grade="rebooted", **price)
        )
    return Fleet(ids, part, whole, restarted)


async def claim(platform: Platform, request: PlacementRequest) -> list[tuple[str, list[int]]]:
    """(allocation id, slot indexes) of each placement."""
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        claimed = await service.claim(tx, request, 1000)
    return [(allocation, [slot.slot_index for slot in placement.slots]) for allocation, placement in claimed.placements]


async def give_back(platform: Platform, allocation_id: str, gpus: int) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        cursor = await select(
            tx.connection,
            "SELECT DISTINCT node_id FROM allocation_resource_claims WHERE allocation_id = %s",
            (allocation_id,),
        )
        row = await cursor.fetchone()
        assert row is not None
        await service.claims_end(tx, allocation_id, row["node_id"])
        service.quota_move(tx, (PROJECT, TENANT), -gpus, 0)
