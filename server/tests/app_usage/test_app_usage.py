"""What apps count (`UsageReport`): reported by their controller, recorded once, read by those whom it was for."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest

from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Json
from tests_support.apps import AppSite, Controller

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def record(world: AppSite, key: str = "a/1", **changes: object) -> Json:
    return {
        "source_key": key,
        "project_id": world.project_id,
        "metric": "echoes",
        "unit": "count",
        "quantity": 3,
        "started_at": NOON.isoformat(),
        "ended_at": (NOON + timedelta(minutes=5)).isoformat(),
        **changes,
    }


async def report(world: AppSite, instance_id: str, *records: Json, by: Controller | None = None) -> httpx.Response:
    path = f"{world.path}/instances/{instance_id}/usage"
    return await (by or world.controller).person.call("POST", path, {"records": list(records)})


async def running(world: AppSite) -> str:
    return await older(world, await world.running())


async def older(world: AppSite, instance_id: str) -> str:
    """Let it have been created long ago, so that it can have been used at any of these times."""
    async with world.platform.database.connection(PLATFORM) as connection:
        long_ago = NOON - timedelta(days=200)
        await connection.execute("UPDATE app_instances SET created_at = %s WHERE id = %s", (long_ago, instance_id))
    return instance_id


async def listed(world: AppSite, query: str = "") -> list[Json]:
    found: list[Json] = (await world.admin.get(f"{world.path}/app-usage{query}"))["items"]
    return found


async def totals(world: AppSite, query: str = "") -> dict[str, int]:
    days = "first_day=2026-02-20&last_day=2026-03-20"
    found = await world.admin.get(f"{world.path}/app-usage/totals?{days}{query}")
    return {one["instance_id"]: one["quantity"] for one in found["items"]}


async def events(world: AppSite) -> list[Json]:
    found = await world.admin.get(f"{world.path}/events?limit=500")
    return [one for one in found["items"] if one["type"] == "app_usage.recorded"]


async def test_a_repeated_report_is_one_record(world: AppSite) -> None:
    instance_id = await running(world)
    first = await report(world, instance_id, record(world), record(world, "a/2", quantity=4, subject="talk 2"))
    assert (first.status_code, first.json()["recorded"], first.json()["known"]) == (200, 2, 0)
    again = await report(world, instance_id, record(world), record(world, "a/3"), record(world, "a/3"))
    assert (again.json()["recorded"], again.json()["known"]) == (1, 2)
    assert sorted(one["source_key"] for one in await listed(world)) == ["a/1", "a/2", "a/3"]
    assert await totals(world) == {instance_id: 3 + 4 + 3}
    told = await events(world)
    assert [(one["data"]["records"], one["data"]["quantities"]) for one in told] == [
        (2, {"echoes": 7}),
        (1, {"echoes": 3}),
    ]
    only_known = await report(world, instance_id, record(world))
    assert only_known.json()["recorded"] == 0
    assert len(await events(world)) == 2  # nothing new is no news


async def test_other_content_under_a_known_key_is_refused_by_name_and_nothing_of_the_report_stays(
    world: AppSite,
) -> None:
    instance_id = await running(world)
    await report(world, instance_id, record(world))
    answer = await report(world, instance_id, record(world, "b/1"), record(world, quantity=5))
    assert (answer.status_code, answer.json()["code"]) == (409, "usage_key_taken")
    assert answer.json()["details"]["source_keys"] == ["a/1"]
    within = await report(world, instance_id, record(world, "c/1"), record(world, "c/1", quantity=9))
    assert within.json()["details"]["source_keys"] == ["c/1"]
    assert [one["source_key"] for one in await listed(world)] == ["a/1"]
    assert await totals(world) == {instance_id: 3}


async def test_the_same_key_of_another_instance_is_another_record(world: AppSite) -> None:
    first = await older(world, await world.running("first", nodes=1))
    second = await _second(world)
    await report(world, first, record(world))
    await report(world, second, record(world, quantity=8))
    assert await totals(world) == {first: 3, second: 8}
    assert await totals(world, f"&instance_id={second}") == {second: 8}
    assert [one["instance_id"] for one in await listed(world, f"?instance_id={first}")] == [first]


async def _second(world: AppSite) -> str:
    """Beside the first, on other allocations."""
    intent = [{"component_key": "head", "allocation_id": world.allocations[2]}]
    intent.append({"component_key": "node", "allocation_id": world.allocations[3]})
    instance_id, operation_id = await world.created("second", placement_intent=intent)
    await world.controller.carry_out(operation_id)
    return await older(world, instance_id)


async def test_every_fault_of_a_report_is_named_at_once(world: AppSite) -> None:
    instance_id = await running(world)
    wrong = [
        record(world, "metric", metric="shouts"),
        record(world, "unit", unit="second"),
        record(world, "project", project_id="prj_01jd2m8k4t7w9x3c5v6b1n2q0a"),
        record(world, "span", started_at=(NOON + timedelta(hours=1)).isoformat()),
        record(world, "future", ended_at=(datetime.now(UTC) + timedelta(days=9)).isoformat()),
        record(world, "age", started_at="0001-01-01T00:00:00+14:00"),  # before the first year that can be read back
        record(world, "right"),
    ]
    answer = await report(world, instance_id, *wrong)
    assert (answer.status_code, answer.json()["code"]) == (422, "usage_invalid")
    named = [one["source_key"] for one in answer.json()["details"]["faults"]]
    assert named == ["metric", "unit", "project", "span", "future", "age"]
    assert await listed(world) == []


async def test_only_the_controller_of_the_app_reports(world: AppSite) -> None:
    instance_id = await running(world)
    stranger = await world.another_controller(apps=("other-app",))
    assert (await report(world, instance_id, record(world), by=stranger)).json()["code"] == "not_the_controller"
    path = f"{world.path}/instances/{instance_id}/usage"
    assert (await world.admin.call("POST", path, {"records": [record(world)]})).status_code == 403


async def test_the_last_report_may_come_after_the_end_of_the_instance(world: AppSite) -> None:
    instance_id = await running(world)
    operation_id = await world.asked(instance_id, "decommission")
    await world.controller.carry_out(operation_id)
    await world.settle()
    assert (await world.instance(instance_id))["decommissioned_at"] is not None
    assert (await report(world, instance_id, record(world))).json()["recorded"] == 1


async def test_usage_outside_of_the_life_of_the_instance_is_refused(world: AppSite) -> None:
    instance_id = await running(world)
    early = record(world, "early", started_at=(NOON - timedelta(days=201)).isoformat())
    answer = await report(world, instance_id, early)
    assert (answer.status_code, answer.json()["code"]) == (422, "usage_invalid")
    assert "before the instance was created" in answer.json()["detail"]
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE app_instances SET decommissioned_at = %s WHERE id = %s", (NOON, instance_id))
    late = record(world, "late", ended_at=(NOON + timedelta(minutes=11)).isoformat())
    answer = await report(world, instance_id, record(world, "right"), late)
    assert [one["source_key"] for one in answer.json()["details"]["faults"]] == ["late"]
    assert "after the instance was decommissioned" in answer.json()["detail"]


async def test_reports_at_the_same_moment_make_each_record_once(world: AppSite) -> None:
    instance_id = await running(world)
    batches = [[record(world, f"k/{n}") for n in range(start, start + 20)] for start in (0, 5, 10, 15)]
    answers = await asyncio.gather(*(report(world, instance_id, *reversed(batch)) for batch in batches))
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sum(answer.json()["recorded"] for answer in answers) == 35
    assert await totals(world) == {instance_id: 35 * 3}


async def test_pages_go_by_the_end_and_keep_to_the_times_asked_for(world: AppSite) -> None:
    instance_id = await running(world)
    days = [NOON + timedelta(days=n) for n in (3, 1, 2, 0)]
    told = [record(world, str(n), started_at=day.isoformat(), ended_at=day.isoformat()) for n, day in enumerate(days)]
    await report(world, instance_id, *told)
    page = await world.admin.get(f"{world.path}/app-usage?limit=3")
    rest = await listed(world, f"?limit=3&after={page['next_cursor']}")
    assert [one["source_key"] for one in (*page["items"], *rest)] == ["0", "2", "1", "3"]
    window = await listed(world, "?since=2026-03-02T00:00:00Z&before=2026-03-04T00:00:00Z")
    assert [one["source_key"] for one in window] == ["2", "1"]
    summed = await world.admin.get(f"{world.path}/app-usage/totals?first_day=2026-03-02&last_day=2026-03-03")
    assert [(one["quantity"], one["records"]) for one in summed["items"]] == [(6, 2)]
    unknown = await world.admin.call("GET", f"{world.path}/app-usage?after=aur_01jd2m8k4t7w9x3c5v6b1n2q0a")
    assert unknown.json()["code"] == "invalid_cursor"
    too_many = await world.admin.call("GET", f"{world.path}/app-usage/totals?first_day=2020-01-01&last_day=2026-01-01")
    assert too_many.json()["code"] == "invalid_request"
    assert (await world.admin.get(f"{world.path}/app-usage/totals?last_day=0001-01-05"))["items"] == []


async def test_pages_of_totals_leave_nothing_out(world: AppSite) -> None:
    first, second = await older(world, await world.running("first", nodes=1)), await _second(world)
    for instance_id in (first, second):
        await report(world, instance_id, record(world))
    days = "first_day=2026-02-20&last_day=2026-03-20"
    page = await world.admin.get(f"{world.path}/app-usage/totals?{days}&limit=1")
    rest = await world.admin.get(f"{world.path}/app-usage/totals?{days}&limit=1&after={page['next_cursor']}")
    assert [one["instance_id"] for one in (*page["items"], *rest["items"])] == [first, second]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("statement", ["UPDATE app_usage_records SET quantity = 0", "DELETE FROM app_usage_records"])
async def test_the_database_refuses_to_change_a_record(world: AppSite, statement: str) -> None:
    instance_id = await running(world)
    await report(world, instance_id, record(world))
    async with world.platform.database.connection(PLATFORM) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute(statement.encode())
