"""What is claimed is never offered: stale index rows, GPUs that join a taken node, claims that come too late."""

import asyncio
from dataclasses import replace

import pytest

from gpuaas_server.capacity import queries, quotas, service, skus
from gpuaas_server.capacity.schemas import QuotaSet, SkuUpdate, SlotApprove
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from tests_support.capacity_checks import assert_consistent, rows
from tests_support.fleet import ACTOR, TENANT, Fleet, claim, eight_gpus, give_back, make_fleet

WRONG = (
    "INSERT INTO node_fits (node_id, gpu_model, shape, size, leftover, spread)"
    " SELECT %s, gpu_model, shape, %s, 0, 0 FROM skus WHERE shape = %s RETURNING 1"
)


async def claim_as(platform: Platform, fleet: Fleet, size: int, whole: bool = False) -> str:
    """A claim in the scope of a tenant of its own, who sees nobody else's rows."""
    tenant = new_id("tnt")
    async with platform.transaction(Scope(tenant), ACTOR) as tx:
        request = replace(fleet.request(size, 1, whole), tenant_id=tenant, project_id=new_id("prj"))
        claimed = await service.claim(tx, request, 1000)
    ((allocation_id, _),) = claimed.placements
    return allocation_id


async def sku_edit(platform: Platform, fleet: Fleet) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await skus.sku_update(tx, fleet.slice_sku.id, SkuUpdate(price_per_gpu_hour_minor=1), lambda _: None)


async def test_a_sku_edit_waits_for_the_transaction_that_claims_the_node(platform: Platform) -> None:
    """Without the node's lock it would write down as free what the other session has just taken."""
    fleet = await make_fleet(platform, 1)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.claim(tx, fleet.request(8), 1000)
        await queries.live_claims(tx.connection, fleet.nodes[0])  # the claim has reached the database
        edit = asyncio.create_task(sku_edit(platform, fleet))
        done, _ = await asyncio.wait([edit], timeout=0.5)
        assert not done
    await edit
    assert await rows(platform, "SELECT * FROM node_fits") == []
    await assert_consistent(platform)


@pytest.mark.parametrize("count", [1, 2])
async def test_a_wrong_fit_causes_no_wrong_claim_and_is_corrected(platform: Platform, count: int) -> None:
    fleet = await make_fleet(platform, 2)
    ((first, _),) = await claim(platform, fleet.request(8))
    (taken,) = await rows(platform, "SELECT DISTINCT node_id FROM allocation_resource_claims")
    for size in (1, 2):
        await rows(platform, WRONG, taken["node_id"], size, "gpu_slice")
    assert len(await claim(platform, fleet.request(2, count))) == count
    await assert_consistent(platform)
    await give_back(platform, first, 8)
    await assert_consistent(platform)


async def test_with_nothing_but_wrong_fits_the_refusal_is_the_honest_one(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    await claim(platform, fleet.request(8, count=2))
    for node_id in fleet.nodes:
        await rows(platform, WRONG, node_id, 2, "gpu_slice")
    for count in (1, 2):
        with pytest.raises(Problem, match="no_capacity"):
            await claim(platform, fleet.request(2, count))


async def test_a_gpu_approved_later_on_a_taken_node_is_not_free(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    node_id = fleet.nodes[0]
    four = eight_gpus()[:4]
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.inventory_apply(tx, node_id, four)
        await service.slot_approve(tx, node_id, SlotApprove())
    taken = await claim_as(platform, fleet, 4, whole=True)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.inventory_apply(tx, node_id, eight_gpus()[:5])
        await tx.connection.execute("UPDATE node_resource_slots SET status = 'discovered' WHERE slot_index = 4")
        await service.slot_approve(tx, node_id, SlotApprove())
    assert await rows(platform, "SELECT * FROM node_fits") == []
    for wrong in (False, True):  # and not even an index that says so gives it away
        if wrong:
            await rows(platform, WRONG, node_id, 1, "gpu_slice")
        with pytest.raises(Problem, match="no_capacity"):
            await claim_as(platform, fleet, 1)
    await give_back(platform, taken, 0)
    await claim_as(platform, fleet, 5, whole=True)


async def test_a_node_with_any_live_claim_is_not_whole(platform: Platform) -> None:
    """Its claimed GPU is gone from the inventory; all that are present are free."""
    fleet = await make_fleet(platform, 1)
    await claim_as(platform, fleet, 1)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.inventory_apply(tx, fleet.nodes[0], eight_gpus()[1:])
    with pytest.raises(Problem):
        await claim_as(platform, fleet, 7, whole=True)
    await claim_as(platform, fleet, 7)


async def test_a_claim_that_the_constraints_refuse_is_a_refusal(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)

    async def claim_the_same_twice() -> None:
        async with platform.transaction(PLATFORM, ACTOR) as tx:
            ((_, placement),) = (await service.claim(tx, fleet.request(1), 1000)).placements
            queries.claims_insert(tx.later, TENANT, [(new_id("alc"), placement)], False, tx.now)

    with pytest.raises(Problem) as refused:
        await claim_the_same_twice()
    assert (refused.value.code, refused.value.kind.retryable) == ("no_capacity", True)
    await assert_consistent(platform)


async def test_gpus_being_cleaned_are_worth_waiting_for(platform: Platform) -> None:
    fleet = await make_fleet(platform, 1)
    ((allocation_id, _),) = await claim(platform, fleet.request(3))
    await claim(platform, fleet.request(5))
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.slots_mark(tx, allocation_id, "cleaning")
    with pytest.raises(Problem) as refused:
        await claim(platform, fleet.request(4))
    assert refused.value.code == "no_capacity"
    assert refused.value.detail == "3 GPUs are being cleaned; try again in a minute."


@pytest.mark.parametrize("exists", [False, True])
async def test_of_two_quota_changes_against_one_generation_one_is_refused(platform: Platform, exists: bool) -> None:
    scope = new_id("tnt")

    async def put(limit: int, expected: int | None) -> None:
        def require(generation: int) -> None:
            if expected not in (None, generation):
                raise Problem("precondition_failed")

        async with platform.transaction(PLATFORM, ACTOR) as tx:
            await quotas.quota_set(tx, platform.settings, scope, scope, QuotaSet(gpu_limit=limit), require)

    if exists:
        await put(1, None)
    results = await asyncio.gather(*(put(n, int(exists)) for n in range(6)), return_exceptions=True)
    refused = [result for result in results if result is not None]
    assert len(refused) == 5
    assert all(isinstance(result, Problem) and result.code == "precondition_failed" for result in refused)
    await asyncio.gather(*(put(n, None) for n in range(4)))
    (row,) = await rows(platform, "SELECT generation FROM quotas WHERE scope_id = %s", scope)
    assert row["generation"] == 5 + exists


async def test_a_node_whose_gpus_vanished_under_a_tenant_is_still_claimed(platform: Platform) -> None:
    fleet = await make_fleet(platform, 2)
    ((allocation_id, _),) = await claim(platform, fleet.request(1))
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        for node_id in fleet.nodes:
            await service.inventory_apply(tx, node_id, [])
        summaries = await service.slot_summary(tx.connection, fleet.nodes)
    assert sorted((s.total, s.claimed) for s in summaries.values()) == [(0, False), (0, True)]
    await give_back(platform, allocation_id, 1)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        summaries = await service.slot_summary(tx.connection, fleet.nodes)
    assert not any(s.claimed for s in summaries.values())
