"""The second wall: what the database refuses even if the code were wrong."""

from typing import Any

import pytest
from psycopg.errors import CheckViolation, ExclusionViolation, ForeignKeyViolation

from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.ids import new_id
from tests_support.apps import AppSite
from tests_support.select import select


async def _insert_operation(world: AppSite, instance_id: str, target: str, lane: str, **more: Any) -> None:
    row = {"member_id": None, "tenant_id": world.tenant_id, **more}
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "INSERT INTO app_operations (id, tenant_id, project_id, instance_id, app_slug, kind, target, member_id, lane,"
            " status, status_since, requested_by, requested_by_name, correlation_id, created_at, deadline_at) VALUES"
            " (%(id)s, %(tenant_id)s, %(project)s, %(instance)s, 'echo', 'drain', %(target)s, %(member_id)s,"
            " %(lane)s::int4range, 'pending', now(), 'usr_x', 'x', '-', now(), now())",
            {"id": new_id("op"), "project": world.project_id, "instance": instance_id, "target": target, "lane": lane}
            | row,
        )


async def test_no_two_live_operations_share_a_member_and_one_on_the_whole_shares_with_none(world: AppSite) -> None:
    instance_id = await world.running()
    first, second, _ = await world.members(instance_id)
    await _insert_operation(world, instance_id, "member", "[0,1)", member_id=first["id"])
    await _insert_operation(world, instance_id, "member", "[1,2)", member_id=second["id"])
    for target, lane, member in (("member", "[0,1)", first["id"]), ("instance", "(,)", None)):
        with pytest.raises(ExclusionViolation):
            await _insert_operation(world, instance_id, target, lane, member_id=member)


async def test_a_lane_that_does_not_fit_its_target_is_refused(world: AppSite) -> None:
    instance_id = await world.running()
    for target, lane in (("instance", "[0,1)"), ("bulk", "[0,1)"), ("member", "(,)")):
        with pytest.raises(CheckViolation):
            await _insert_operation(world, instance_id, target, lane)


async def test_an_operation_of_one_tenant_on_the_instance_of_another_is_refused(world: AppSite) -> None:
    instance_id = await world.running()
    with pytest.raises(ForeignKeyViolation):
        await _insert_operation(world, instance_id, "instance", "(,)", tenant_id=new_id("tnt"))


async def test_two_instances_never_share_an_allocation(world: AppSite) -> None:
    await world.running(nodes=1)
    other, _ = await world.created(
        "second",
        placement_intent=[{"component_key": key, "allocation_id": world.allocations[1]} for key in ("head", "node")],
    )
    with pytest.raises(ExclusionViolation):
        async with world.platform.database.connection(PLATFORM) as connection:
            await connection.execute(
                "UPDATE app_members SET allocation_id = %s WHERE instance_id = %s", (world.allocations[0], other)
            )


async def test_another_tenant_sees_nothing_of_it(world: AppSite) -> None:
    await world.running()
    for scope, seen in ((Scope(new_id("tnt")), 0), (Scope(world.tenant_id), 1)):
        async with world.platform.database.connection(scope) as connection:
            for table in ("app_instances", "app_members", "app_operations", "app_instance_events"):
                cursor = await select(connection, f"SELECT count(*) > 0 AS any FROM {table}")
                row = await cursor.fetchone()
                assert row is not None
                assert int(row["any"]) == seen, table


async def test_the_number_of_live_instances_is_told_over_the_wall_and_nothing_else(world: AppSite) -> None:
    instance_id = await world.running()
    digest = (await world.instance(instance_id))["digest"]
    async with world.platform.database.connection(Scope(new_id("tnt"))) as connection:
        cursor = await select(connection, "SELECT live_instances(%s, NULL) AS live", (digest,))
        assert (await cursor.fetchone() or {})["live"] == 1
        cursor = await select(connection, "SELECT last_instance_end(%s, NULL) AS ended", (digest,))
        assert (await cursor.fetchone() or {"ended": ""})["ended"] is None
        cursor = await select(connection, "SELECT current_setting('gpuaas.platform') AS platform")
        assert (await cursor.fetchone() or {})["platform"] == "off"
        cursor = await select(connection, "SELECT count(*) AS n FROM app_instances")
        assert (await cursor.fetchone() or {})["n"] == 0
