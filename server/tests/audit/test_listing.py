"""The audit trail is read by who, what, and when."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_server.audit.service import AuditEntry, AuditFilter, audit_list, record
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.pages import PageRequest
from tests_support.people import World
from tests_support.people_fixtures import clock, world

__all__ = ["clock", "world"]

ACTOR = system_actor("test", "correlation-of-a-test")
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AuditFilter(), ["third_step", "second_step", "first_step"]),
        (AuditFilter(action="second_step"), ["second_step"]),
        (AuditFilter(outcome="failed"), ["third_step"]),
        (AuditFilter(outcome="done"), ["second_step", "first_step"]),
        (AuditFilter(since=datetime.min.replace(tzinfo=UTC)), ["third_step", "second_step", "first_step"]),
        (AuditFilter(before=datetime.max.replace(tzinfo=UTC)), ["third_step", "second_step", "first_step"]),
        (AuditFilter(since=datetime.max.replace(tzinfo=UTC)), []),
    ],
)
async def test_rows_are_picked_newest_first(platform: Platform, wanted: AuditFilter, found: list[str]) -> None:
    for action, outcome in (("first_step", "done"), ("second_step", "done"), ("third_step", "failed")):
        await _done(platform, action, outcome)
    assert await _actions(platform, wanted) == found


async def test_a_span_of_time_has_its_beginning_and_not_its_end(platform: Platform) -> None:
    moments = []
    for action in ("first_step", "second_step", "third_step"):
        await _done(platform, action)
        async with platform.database.connection(PLATFORM) as connection:
            moments.append((await audit_list(connection, AuditFilter(), PageRequest(None, 1))).items[0].at)
    assert await _actions(platform, AuditFilter(since=moments[1])) == ["third_step", "second_step"]
    assert await _actions(platform, AuditFilter(before=moments[1])) == ["first_step"]
    assert await _actions(platform, AuditFilter(since=moments[1], before=moments[2])) == ["second_step"]
    assert await _actions(platform, AuditFilter(before=moments[0] - HOUR)) == []


async def _done(platform: Platform, action: str, outcome: str = "done") -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await record(tx, AuditEntry(action, outcome=outcome))


async def _actions(platform: Platform, wanted: AuditFilter) -> list[str]:
    async with platform.database.connection(PLATFORM) as connection:
        return [row.action for row in (await audit_list(connection, wanted, PageRequest(None, 50))).items]


async def test_every_outcome_that_a_row_can_have_can_be_asked_for(world: World) -> None:
    await _done(world.platform, "publish_intent_end", "failed")
    assert [row["outcome"] for row in await world.audit(outcome="failed")] == ["failed"]
    assert {row["outcome"] for row in await world.audit(outcome="done")} == {"done"}
    assert await world.audit(outcome="denied") == []
    assert (await world.admin.call("GET", "/audit", params={"outcome": "maybe"})).status_code == 422
