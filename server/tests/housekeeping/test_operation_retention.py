"""Operations, timelines and deliveries go after their time; what a receipt or an instance still names stays."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import psycopg
import pytest

from gpuaas_server.access import deliveries
from gpuaas_server.housekeeping import jobs
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import first_id_at, new_id
from tests_support import apps
from tests_support.apps import FORCED, AppSite
from tests_support.housekeeping import column, sweep


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened


async def sweep_all(platform: Platform) -> int:
    """Until there is nothing more to do soon; in how many portions."""
    for portions in range(1, 300):
        if await sweep(platform) == jobs.EVERY:
            return portions
    raise AssertionError("it never ends")


async def members_of(world: AppSite, instance_id: str) -> list[str]:
    return [one["id"] for one in await world.members(instance_id) if one["component_key"] == "node"]


async def done(world: AppSite, instance_id: str, verb: str, **body: object) -> list[str]:
    """Ask for it and carry it out, the children of a bulk one by one; the ids, the one asked for first."""
    asked = await world.asked(instance_id, verb, **body)
    children = [item["id"] for item in await world.controller.work()]
    for operation_id in children:
        await world.controller.carry_out(operation_id)
    await world.settle()
    return list(dict.fromkeys([asked, *children]))


async def history(world: AppSite) -> tuple[set[str], set[str]]:
    """A life with many operations: the ids of those that may be forgotten, and of those that may not."""
    instance_id, deployed = await world.created(nodes=3)
    await world.controller.carry_out(deployed)
    first, second, third = await members_of(world, instance_id)
    forgotten = {deployed, *await done(world, instance_id, "reconcile")}
    drained = await done(world, instance_id, "member-operations", kind="drain", targets=[second, third])
    assert len(drained) == 3  # a bulk and its children
    forgotten.update(drained)
    removed = await done(world, instance_id, "member-operations", kind="remove", targets=[second, third])
    assert len(removed) == 3
    stopped = await done(world, instance_id, "stop")
    last = await done(world, instance_id, "start")
    drained_last = await done(world, instance_id, "member-operations", kind="drain", targets=[first], **FORCED)
    assert (await world.instance(instance_id))["last_operation_id"] == drained_last[0]
    return forgotten, {*removed, *stopped, *last, *drained_last}


async def test_ended_operations_are_removed_except_those_that_something_refers_to(world: AppSite) -> None:
    forgotten, kept = await history(world)
    world.clock.ahead += timedelta(days=89)
    await sweep(world.platform)
    assert set(await column(world.platform, "SELECT id FROM app_operations")) == forgotten | kept
    world.clock.ahead += timedelta(days=2)
    await sweep(world.platform)
    assert set(await column(world.platform, "SELECT id FROM app_operations")) == kept
    named = await column(world.platform, "SELECT operation_id FROM teardown_receipts")
    named += await column(world.platform, "SELECT last_operation_id FROM app_instances")
    named += await column(world.platform, "SELECT last_operation_id FROM app_members WHERE removed_at IS NULL")
    assert set(named) <= kept


async def test_what_stays_does_not_keep_the_sweep_from_what_is_behind_it(
    world: AppSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, kept = await history(world)
    world.clock.ahead += timedelta(days=91)
    monkeypatch.setattr(jobs, "PORTION", 1)
    assert await sweep_all(world.platform) > 5
    assert set(await column(world.platform, "SELECT id FROM app_operations")) == kept
    assert await sweep_all(world.platform) == 1, "what stays is not looked at again so soon"


async def test_an_operation_that_lives_is_never_too_old(world: AppSite) -> None:
    _, operation_id = await world.created(deadline_seconds=86_400)
    world.clock.ahead += timedelta(days=300)
    await sweep(world.platform)
    assert await column(world.platform, "SELECT id FROM app_operations") == [operation_id]


async def test_entries_of_timelines_go_and_the_instance_stays(world: AppSite) -> None:
    instance_id = await world.running()
    world.clock.ahead += timedelta(days=89)
    await sweep(world.platform)
    assert await column(world.platform, "SELECT count(*) FROM app_instance_events") != [0]
    world.clock.ahead += timedelta(days=2)
    await sweep(world.platform)
    assert await column(world.platform, "SELECT count(*) FROM app_instance_events") == [0]
    assert await column(world.platform, "SELECT id FROM app_instances") == [instance_id]


async def test_events_go_in_portions_too(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PORTION", 2)
    async with platform.database.connection(PLATFORM) as connection:
        for age in (31, 32, 33, 29):
            await connection.execute(
                "INSERT INTO events (id, time, type, subject, correlation_id, data) VALUES (%s, %s, 'x', 'y', '-', '{}')",
                (new_id("evt"), utc_now() - timedelta(days=age)),
            )
    assert await sweep(platform) == jobs.NEXT_PORTION
    assert await column(platform, "SELECT count(*) FROM events") == [2]
    assert await sweep(platform) == jobs.EVERY
    assert await column(platform, "SELECT count(*) FROM events") == [1]


async def delivery(platform: Platform, at: datetime) -> str:
    credential, made = new_id("crd"), first_id_at("dlv", at)
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "INSERT INTO access_credentials (id, tenant_id, project_id, name, kind, version, generation, created_by,"
            " created_at) VALUES (%s, 't', 'p', %s, 'ssh_certificate', 1, 1, 'u', now())",
            (credential, credential),
        )
        await connection.execute(
            "INSERT INTO credential_deliveries (id, tenant_id, project_id, credential_id, version, delivered_to,"
            " recipient_fingerprint, correlation_id, delivered_at) VALUES (%s, 't', 'p', %s, 1, 'u', 'f', '-', %s)",
            (made, credential, at),
        )
    return made


async def test_deliveries_go_after_their_time_and_no_sooner(platform: Platform) -> None:
    await delivery(platform, utc_now() - timedelta(days=401))
    kept = {await delivery(platform, utc_now() - timedelta(days=age)) for age in (399, 1)}
    await sweep(platform)
    assert set(await column(platform, "SELECT id FROM credential_deliveries")) == kept


async def test_the_database_keeps_the_last_thirty_days_of_deliveries_whatever_the_code_asks_for(
    platform: Platform,
) -> None:
    await delivery(platform, utc_now() - timedelta(days=29))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with platform.transaction(PLATFORM, system_actor("test")) as tx:
            await deliveries.deliveries_forget(tx, tx.now, 10)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await column(platform, "DELETE FROM credential_deliveries RETURNING id")
    assert await column(platform, "SELECT count(*) FROM credential_deliveries") == [1]
