"""Claims on real PostgreSQL: nothing is claimed twice, whoever asks, however many ask at once."""

import asyncio
import random

import psycopg
import pytest

from gpuaas_server.capacity import scheduler, service
from gpuaas_server.capacity.scheduler import FreeSlot, NodeOffer
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from tests_support.capacity_checks import assert_consistent, rows
from tests_support.fleet import ACTOR, PROJECT, TENANT, Fleet, claim, give_back, make_fleet


async def test_a_slice_is_claimed_in_one_nvlink_group(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    assert [slots for _, slots in await claim(platform, fleet.request(2))] == [[0, 1]]
    assert [slots for _, slots in await claim(platform, fleet.request(4))] == [[4, 5, 6, 7]]
    await assert_consistent(platform)


async def test_bare_metal_needs_a_whole_free_node(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    await claim(platform, fleet.request(1))
    await claim(platform, fleet.request(8, whole=True))
    with pytest.raises(Problem) as refused:
        await claim(platform, fleet.request(8, whole=True))
    assert refused.value.code == "no_capacity"
    await assert_consistent(platform)


async def test_refusals_tell_fragmented_blocked_and_full_apart(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    taken = [(await claim(platform, fleet.request(7)))[0][0] for _ in range(2)]
    with pytest.raises(Problem) as fragmented:
        await claim(platform, fleet.request(2))
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.slots_mark(tx, taken[0], "cleanup_blocked", "wipe_not_proven")
    with pytest.raises(Problem) as blocked:
        await claim(platform, fleet.request(4))
    with pytest.raises(Problem) as full:
        await claim(platform, fleet.request(8, count=2))
    codes = [error.value.code for error in (fragmented, blocked, full)]
    assert codes == ["capacity_fragmented", "capacity_blocked", "no_capacity"]


async def test_a_bulk_is_all_or_nothing(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    assert len(await claim(platform, fleet.request(2, count=7))) == 7
    with pytest.raises(Problem):
        await claim(platform, fleet.request(2, count=2))
    assert len(await claim(platform, fleet.request(2, count=1))) == 1
    await assert_consistent(platform)


async def test_a_quota_is_not_exceeded_by_concurrent_requests(platform: Platform) -> None:
    fleet = await make_fleet(platform, 4)
    await rows(
        platform, "INSERT INTO quotas (scope_id, tenant_id, gpu_limit) VALUES (%s, %s, 5) RETURNING 1", PROJECT, TENANT
    )
    results = await asyncio.gather(*(claim(platform, fleet.request(2)) for _ in range(8)), return_exceptions=True)
    refused = [r for r in results if isinstance(r, Problem)]
    assert len(results) - len(refused) == 2
    assert {r.code for r in refused} == {"quota_exceeded"}
    assert (await rows(platform, "SELECT gpus_used FROM quotas WHERE scope_id = %s", PROJECT))[0]["gpus_used"] == 4
    await assert_consistent(platform)


async def test_a_cordoned_node_offers_nothing_until_it_is_back(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.node_eligibility_set(tx, fleet.nodes[0], False)
    with pytest.raises(Problem):
        await claim(platform, fleet.request(1))
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.node_eligibility_set(tx, fleet.nodes[0], True)
    await claim(platform, fleet.request(1))


async def test_a_whole_node_is_offered_only_where_its_wipe_can_be_proven(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    _, newer = fleet.nodes
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.node_wipe_grade_set(tx, newer, "rebooted")
    ((allocation_id, _),) = await claim(platform, fleet.request(8, whole=True, restarted=True))
    claimed = await rows(platform, "SELECT node_id FROM allocation_resource_claims")
    assert [row["node_id"] for row in claimed] == [newer]
    with pytest.raises(Problem) as refused:
        await claim(platform, fleet.request(8, whole=True, restarted=True))
    assert refused.value.code == "capacity_below_grade"
    assert "SKU h100-restarted requires" in refused.value.detail
    assert refused.value.details["wipe_grade"] == "rebooted"
    await assert_consistent(platform)
    await claim(platform, fleet.request(8, whole=True))  # who needs no restart may have the older one
    with pytest.raises(Problem, match="no_capacity"):
        await claim(platform, fleet.request(8, whole=True, restarted=True))
    await give_back(platform, allocation_id, 8)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.node_wipe_grade_set(tx, newer, "inspected")
    with pytest.raises(Problem, match="capacity_below_grade"):
        await claim(platform, fleet.request(8, whole=True, restarted=True))
    await assert_consistent(platform)


async def test_slices_go_to_nodes_that_erase_drives_and_to_slots_without_drives(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    _, keeping = fleet.nodes
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.node_erase_drives_set(tx, keeping, False)
    for _ in fleet.nodes:  # none of the slots has a drive
        await claim(platform, fleet.request(8))
    await rows(
        platform, "UPDATE node_resource_slots SET nvme_device = 'nvme' || slot_index, status = 'available' RETURNING 1"
    )
    await rows(platform, "UPDATE allocation_resource_claims SET released_at = now() RETURNING 1")
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.node_erase_drives_set(tx, keeping, False)
        await service.node_eligibility_set(tx, fleet.nodes[0], True)
    await claim(platform, fleet.request(8))
    newest = await rows(platform, "SELECT node_id FROM allocation_resource_claims WHERE released_at IS NULL LIMIT 1")
    assert newest == [{"node_id": fleet.nodes[0]}]
    with pytest.raises(Problem, match="capacity_drives_not_erased"):
        await claim(platform, fleet.request(1))
    with pytest.raises(Problem, match="no_capacity"):  # not even with them would there be enough
        await claim(platform, fleet.request(8, count=2))


async def test_second_claim_of_a_slot_is_refused_by_the_database(platform: Platform) -> None:
    """By hand, past all code: slot against slot, slot against node_exclusive, and the reverse."""
    fleet = await make_fleet(platform, 2)
    first, second = fleet.nodes
    slot = {
        r["node_id"]: r["id"]
        for r in await rows(platform, "SELECT id, node_id FROM node_resource_slots WHERE slot_index = 0")
    }
    insert = (
        "INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, slot_id, lane, claimed_at)"
        " VALUES (%s, 'tnt_x', %s, %s, %s, %s, int4range(%s, %s), now()) RETURNING 1"
    )

    async def by_hand(node: str, kind: str, slot_id: object, low: int | None, high: int | None) -> None:
        await rows(platform, insert, new_id("clm"), new_id("alc"), node, kind, slot_id, low, high)

    await by_hand(first, "slot", slot[first], 0, 1)
    for kind, slot_id, low, high in (("slot", slot[first], 0, 1), ("node_exclusive", None, None, None)):
        with pytest.raises((psycopg.errors.ExclusionViolation, psycopg.errors.UniqueViolation)):
            await by_hand(first, kind, slot_id, low, high)
    await by_hand(second, "node_exclusive", None, None, None)
    with pytest.raises(psycopg.errors.ExclusionViolation):
        await by_hand(second, "slot", slot[second], 0, 1)
    with pytest.raises(psycopg.errors.CheckViolation):
        await by_hand(first, "slot", slot[first], 3, 9)


async def test_the_database_offers_nodes_in_the_order_of_the_pure_scheduler(platform: Platform) -> None:
    fleet = await make_fleet(platform, 6)
    chance = random.Random(7)
    for _ in range(14):
        await claim(platform, fleet.request(chance.choice([1, 1, 2, 3])))
    free = await rows(
        platform, "SELECT * FROM node_resource_slots WHERE status = 'available' ORDER BY node_id, slot_index"
    )
    offers = [
        NodeOffer(
            node,
            tuple(
                FreeSlot(str(r["id"]), r["slot_index"], r["nvlink_group"], r["numa_node"])  # type: ignore[arg-type]
                for r in free
                if r["node_id"] == node
            ),
        )
        for node in fleet.nodes
    ]
    for size in range(1, 9):
        fitting = [offer for offer in offers if len(offer.free) >= size]
        expected = [offer.node_id for offer in sorted(fitting, key=lambda offer: scheduler.rank(offer, size))]
        found = await rows(
            platform,
            "SELECT node_id FROM node_fits WHERE shape = 'gpu_slice' AND size = %s ORDER BY leftover, spread, node_id",
            size,
        )
        assert [row["node_id"] for row in found] == expected


async def _schedule_and_release(platform: Platform, fleet: Fleet, seed: int, rounds: int) -> None:
    """One scheduler among many: claims and gives back at random."""
    chance = random.Random(seed)
    claimed: list[tuple[str, int]] = []
    for _ in range(rounds):
        if claimed and chance.random() < 0.45:
            await give_back(platform, *claimed.pop(chance.randrange(len(claimed))))
            continue
        whole = chance.random() < 0.2
        size, count = (8, 1) if whole else (chance.choice([1, 2, 4]), chance.choice([1, 1, 3]))
        try:
            claimed += [(i, size) for i, _ in await claim(platform, fleet.request(size, count, whole))]
        except Problem as refused:
            assert refused.code in ("no_capacity", "capacity_fragmented", "capacity_blocked")


async def test_many_concurrent_schedulers_never_give_a_slot_to_two(platform: Platform) -> None:
    fleet = await make_fleet(platform, 4)
    await asyncio.gather(*(_schedule_and_release(platform, fleet, seed, 30) for seed in range(8)))
    await assert_consistent(platform)


async def test_capacity_is_never_refused_while_it_is_there_and_merely_locked(platform: Platform) -> None:
    """Sixteen at once for sixteen places: SKIP LOCKED alone would refuse some of them."""
    fleet = await make_fleet(platform, 2)
    results = await asyncio.gather(*(claim(platform, fleet.request(1)) for _ in range(16)))
    assert len({allocation for placed in results for allocation, _ in placed}) == 16
    await assert_consistent(platform)
