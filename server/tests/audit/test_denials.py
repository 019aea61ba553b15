"""Refusals leave rows, and cannot fill the disk."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_server.audit import denials as denials_room
from gpuaas_server.audit.denials import Denials, Throttle
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from tests_support.select import select

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_each_caller_action_and_reason_has_its_own_few_rows() -> None:
    throttle = Throttle(rows_a_minute=2)
    for mark in (("ann", "show", "hidden"), ("ben", "show", "hidden"), ("ann", "list", "hidden"), ("ann", "show", "x")):
        assert [throttle.admit(mark, NOON) for _ in range(4)] == [0, 0, None, None]


def test_the_next_row_says_how_many_were_left_out() -> None:
    throttle, mark = Throttle(rows_a_minute=2), ("ann", "show", "hidden")
    for _ in range(7):
        throttle.admit(mark, NOON)
    assert throttle.admit(mark, NOON + MINUTE) == 5
    assert throttle.admit(mark, NOON + MINUTE) == 0


def test_a_flood_of_new_names_shares_one_mark_and_the_memory_stays_bounded() -> None:
    throttle = Throttle(rows_a_minute=2, most=10)
    written = [throttle.admit((f"10.0.0.{n}", "show", "token_invalid"), NOON) for n in range(1000)]
    assert sum(left_out is not None for left_out in written) == 10 + 2
    assert len(throttle) <= 11
    later = throttle.admit(("10.9.9.9", "show", "token_invalid"), NOON + MINUTE)
    assert later == 0  # room again: what no longer limits anybody was forgotten
    assert len(throttle) <= 11


async def test_a_denial_is_a_row_of_its_own_with_the_reason_and_the_number_left_out(platform: Platform) -> None:
    moment = NOON
    platform.clock = lambda: moment
    denials, actor = Denials(platform), Actor("usr_1", "user", "ann", "tnt_1", "correlation", "", "192.0.2.1")
    for _ in range(13):
        await denials.write(actor, AuditEntry("project_show", "prj_1", "tnt_1"), "hidden")
    moment += MINUTE
    await denials.write(actor, AuditEntry("project_show", "prj_1", "tnt_1"), "hidden")
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT outcome, resource_id, details FROM audit_records ORDER BY at, id")
        rows = await cursor.fetchall()
    assert [row["details"] for row in rows] == [{"why": "hidden"}] * 10 + [{"why": "hidden", "left_out": 3}]
    assert {(row["outcome"], row["resource_id"]) for row in rows} == {("denied", "prj_1")}


async def test_a_flood_of_strangers_leaves_no_refusal_of_a_known_caller_out(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform.clock = lambda: NOON
    denials = Denials(platform)
    monkeypatch.setattr(denials, "_unauthenticated", Throttle(rows_a_minute=2, most=10))
    stranger = Actor("", "anonymous", "anonymous", None, "correlation", "", "")
    for number in range(50):
        caller = replace(stranger, address=f"192.0.2.{number}")
        await denials.write(caller, AuditEntry("project_show", "prj_1", None), "token_invalid")
    ann = Actor("usr_1", "user", "ann", "tnt_1", "correlation", "", "192.0.2.1")
    actions = [f"action_{number}" for number in range(denials_room.ROWS_A_MINUTE * 20)]
    for action in actions:
        await denials.write(ann, AuditEntry(action, "prj_1", "tnt_1"), "hidden")
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT action, actor_id FROM audit_records")
        rows = await cursor.fetchall()
    assert sorted(row["action"] for row in rows if row["actor_id"] == "usr_1") == sorted(actions)
    assert sum(row["actor_id"] != "usr_1" for row in rows) == 10 + 2
