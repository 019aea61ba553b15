"""A deletion that cannot go on says what it waits for, since when and what to do; the metric counts it after ten minutes."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from gpuaas_server.deletions import progress
from gpuaas_server.deletions.schemas import Deletion
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.settings import Settings
from tests_support.agents import Json
from tests_support.apps import AppSite
from tests_support.deletable import Furnished, empty, furnish, lines, pass_grace

GRACE = timedelta(days=7, seconds=1)


@pytest.fixture
async def furnished(world: AppSite) -> Furnished:
    made = await furnish(world)
    await empty(world, made.instance_id)
    return made


@asynccontextmanager
async def after_grace(world: AppSite) -> AsyncIterator[None]:
    """Nobody's token is good then: what operators see is read without the API."""
    before = world.clock.ahead
    world.clock.ahead += GRACE
    yield
    world.clock.ahead = before


async def seen(world: AppSite, stuck: bool | None = None) -> list[Deletion]:
    async with world.platform.database.connection(PLATFORM) as connection:
        return (await progress.deletion_list(connection, world.clock(), stuck, PageRequest(None, 50))).items


async def counted(world: AppSite) -> dict[str, float]:
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await progress.count_stuck(tx)
    samples = [one for metric in metrics.deletions_stuck.collect() for one in metric.samples]
    return {one.labels["stage"]: one.value for one in samples if one.value}


async def asked_for(world: AppSite, path: str) -> Json:
    assert (await world.admin.call("DELETE", path)).status_code == 202
    (found,) = (await world.admin.get("/deletions"))["items"]
    return dict(found)


async def test_a_deletion_in_its_grace_period_waits_for_nothing(world: AppSite, furnished: Furnished) -> None:
    shown = await asked_for(world, f"/tenants/{world.tenant_id}")
    assert (shown["tenant_id"], shown["project_id"], shown["state"]) == (world.tenant_id, None, "scheduled")
    assert (shown["wait"], shown["stuck"], shown["removed"]) == (None, False, {})
    assert (await world.admin.get("/deletions?stuck=true"))["items"] == []


@pytest.mark.parametrize("scope", ["tenant", "project"])
async def test_what_appeared_meanwhile_is_named_until_it_is_gone(
    world: AppSite, furnished: Furnished, scope: str
) -> None:
    path = f"/tenants/{world.tenant_id}" if scope == "tenant" else world.path
    shown = await asked_for(world, path)
    again = "UPDATE allocations SET ended_at = NULL, state = 'active' WHERE id = %s RETURNING id AS line"
    [left] = await lines(world.platform, again, world.allocations[0])
    async with after_grace(world):
        await world.settle(answering=False)
        [blocked] = await seen(world)
        assert blocked.wait is not None
        assert (blocked.id, blocked.state, blocked.wait.stage) == (shown["id"], "scheduled", "leftovers")
        assert f"1 allocation(s) that are not released ({left})" in blocked.wait.why
        assert "Release" in blocked.wait.next_step
        assert (blocked.stuck, await seen(world, stuck=True), await counted(world)) == (False, [], {})
        world.clock.ahead += timedelta(minutes=11)
        await world.settle(answering=False)
        [stuck] = await seen(world, stuck=True)
        assert (stuck.stuck, stuck.wait and stuck.wait.since) == (True, blocked.wait.since)
        assert await counted(world) == {"leftovers": 1}
    done = "UPDATE allocations SET ended_at = now(), state = 'released' WHERE id = %s RETURNING id AS line"
    await lines(world.platform, done, left)
    await pass_grace(world)
    assert (await seen(world), await counted(world)) == ([], {})


async def test_bytes_that_a_store_does_not_remove_are_named_with_its_answer(
    world: AppSite, furnished: Furnished, settings: Settings
) -> None:
    await asked_for(world, world.path)
    [blob, *_] = [path for path in (settings.data_dir / "artifacts").rglob("*") if path.is_file()]
    content = blob.read_bytes()
    _spoil(blob)
    async with after_grace(world):
        for _ in range(3):
            await world.settle(answering=False)
            world.clock.ahead += timedelta(minutes=11)
        [stuck] = await seen(world, stuck=True)
        assert stuck.wait is not None
        assert (stuck.state, stuck.wait.stage) == ("purging", "artifacts")
        assert "IsADirectoryError" in stuck.wait.why
        assert await counted(world) == {"artifacts": 1}
        shutil.rmtree(blob)
        blob.write_bytes(content)
        for _ in range(3):  # it is tried again by itself
            world.clock.ahead += timedelta(minutes=2)
            await world.settle(answering=False)
        assert (await seen(world), await counted(world)) == ([], {})


def _spoil(blob: Path) -> None:
    """What is no file cannot be removed as one."""
    blob.unlink()
    (blob / "something").mkdir(parents=True)


async def test_a_deletion_that_no_worker_takes_up_is_stuck_too(world: AppSite, furnished: Furnished) -> None:
    await asked_for(world, world.path)
    world.clock.ahead += GRACE
    assert [(one.wait, one.stuck) for one in await seen(world)] == [(None, False)]
    world.clock.ahead += timedelta(minutes=11)
    [stuck] = await seen(world, stuck=True)
    assert stuck.wait is not None
    assert (stuck.wait.stage, stuck.wait.since) == ("worker", stuck.delete_after)
    failed = "UPDATE work_items SET last_error = 'Broken: it' WHERE kind = 'deletion' RETURNING id AS line"
    await lines(world.platform, failed)
    [failing] = await seen(world, stuck=True)
    assert failing.wait is not None
    assert (failing.wait.stage, failing.wait.why) == ("failing", "The last attempt failed: Broken: it")
