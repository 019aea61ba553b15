"""What has served its time goes, in portions; what is younger, or still needed, stays."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from gpuaas_server.audit import service as audit
from gpuaas_server.housekeeping import jobs
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import first_id_at, new_id
from tests_support.housekeeping import column, sweep

NODE = new_id("nod")


def days_ago(days: float) -> datetime:
    return utc_now() - timedelta(days=days)


async def write(platform: Platform, statement: str, *values: object) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute(statement.encode(), values)


async def node(platform: Platform) -> None:
    await write(
        platform,
        "INSERT INTO nodes (id, name, hostname, address, public_key, ssh_host_public_key, agent_version, created_at)"
        " VALUES (%s, 'n', 'n', '10.0.0.1', '\\x01', 'k', '1', now())",
        NODE,
    )


async def task(platform: Platform, kind: str, resource: str, generation: int, reported_at: datetime | None) -> None:
    await write(
        platform,
        "INSERT INTO node_tasks (id, node_id, tenant_id, kind, resource_id, generation, spec, deadline, status, correlation_id,"
        " traceparent, notify_kind, notify_subject, created_at, reported_at)"
        " VALUES (%s, %s, 't', %s, %s, %s, '{}', now(), %s, '-', '', 'x', 'x', now(), %s)",
        *(new_id("tsk"), NODE, kind, resource, generation, "succeeded" if reported_at else "pending", reported_at),
    )


async def allocation(platform: Platform, ended_at: datetime | None) -> str:
    made = new_id("alc")
    await write(
        platform,
        "INSERT INTO allocations (id, tenant_id, project_id, sku_id, sku_name, shape, gpu_model, gpu_count, node_id,"
        " state, state_since, created_by, correlation_id, created_at, ended_at)"
        " VALUES (%s, 't', 'p', 's', 's', 'gpu_slice', 'm', 1, %s, %s, now(), 'u', '-', now(), %s)",
        *(made, NODE, "released" if ended_at else "active", ended_at),
    )
    await write(
        platform,
        "INSERT INTO allocation_transitions (allocation_id, generation, tenant_id, at, state, actor)"
        " VALUES (%s, 1, 't', %s, 'requested', 'u')",
        *(made, days_ago(500)),
    )
    await task(platform, "provision", made, 1, days_ago(500))
    await task(platform, "verify_wipe" if ended_at else "sync_access", made, 2, days_ago(500))
    return made


async def audit_row(platform: Platform, at: datetime) -> str:
    made = first_id_at("aud", at)
    await write(
        platform,
        "INSERT INTO audit_records (id, at, actor_id, actor_kind, actor_name, address, action, outcome, correlation_id)"
        " VALUES (%s, %s, 'u', 'user', 'u', '', 'x', 'done', '-')",
        *(made, at),
    )
    return made


def test_an_id_made_before_a_moment_is_smaller_than_the_first_of_that_moment() -> None:
    moment = datetime.now(UTC)
    assert first_id_at("aud", moment - timedelta(seconds=1)) < new_id("aud") < first_id_at("aud", moment + timedelta(1))


async def test_the_history_of_an_allocation_goes_some_time_after_its_end_and_the_allocation_stays(
    platform: Platform,
) -> None:
    await node(platform)
    old, recent = await allocation(platform, days_ago(91)), await allocation(platform, days_ago(89))
    living = await allocation(platform, None)
    await sweep(platform)
    assert set(await column(platform, "SELECT allocation_id FROM allocation_transitions")) == {recent, living}
    assert set(await column(platform, "SELECT resource_id FROM node_tasks")) == {recent, living}
    assert len(await column(platform, "SELECT resource_id FROM node_tasks")) == 4  # a living one's evidence is whole
    assert set(await column(platform, "SELECT id FROM allocations")) == {old, recent, living}


async def test_repeated_tasks_go_but_the_newest_of_a_node_stays_so_that_generations_count_on(
    platform: Platform,
) -> None:
    await node(platform)
    for generation, age in ((1, 200), (2, 150), (3, 120)):
        await task(platform, "discover", NODE, generation, days_ago(age))
    await sweep(platform)
    assert await column(platform, "SELECT generation FROM node_tasks") == [3]


async def test_a_look_at_a_host_goes_when_its_receipt_has_kept_it_long_enough(platform: Platform) -> None:
    await node(platform)
    old, young, open_ = (new_id("rcp") for _ in range(3))
    await task(platform, "inspect", old, 1, days_ago(91))
    await task(platform, "inspect", young, 1, days_ago(1))
    await task(platform, "inspect", open_, 1, None)
    await sweep(platform)
    assert await column(platform, "SELECT resource_id FROM node_tasks ORDER BY id") == [young, open_]


async def test_expired_certificates_and_enrolment_tokens_go(platform: Platform) -> None:
    await node(platform)
    for age in (31, 29, -1):
        ends = days_ago(age)
        await write(
            platform,
            "INSERT INTO ssh_certificates (tenant_id, project_id, allocation_id, key_id, issued_to, fingerprint,"
            " valid_before, created_at) VALUES ('t', 'p', 'a', 'k', 'u', 'f', %s, now())",
            ends,
        )
        await write(
            platform,
            "INSERT INTO ssh_host_certificates (node_id, address, fingerprint, valid_before, created_at)"
            " VALUES ('n', 'a', 'f', %s, now())",
            ends,
        )
        token = new_id("ent")
        await write(
            platform,
            "INSERT INTO enrolment_tokens (id, token_sha256, max_uses, expires_at, created_by, created_at)"
            " VALUES (%s, %s, 1, %s, 'u', now())",
            *(token, token.encode(), ends),
        )
        await write(platform, "INSERT INTO enrolment_uses VALUES (%s, '\\x01', %s, now())", token, NODE)
    await sweep(platform)
    for table in ("ssh_certificates", "ssh_host_certificates", "enrolment_tokens", "enrolment_uses"):
        assert await column(platform, f"SELECT count(*) FROM {table}") == [2], table


async def test_audit_rows_go_after_their_time_and_no_sooner(platform: Platform) -> None:
    await audit_row(platform, days_ago(401))
    kept = {await audit_row(platform, days_ago(399)), await audit_row(platform, days_ago(1))}
    await sweep(platform)
    assert set(await column(platform, "SELECT id FROM audit_records")) == kept


async def test_a_full_portion_is_followed_by_the_next_one_soon(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PORTION", 2)
    for age in (500, 501, 502):
        await audit_row(platform, days_ago(age))
    assert await sweep(platform) == jobs.NEXT_PORTION
    assert await column(platform, "SELECT count(*) FROM audit_records") == [1]
    assert await sweep(platform) == jobs.EVERY
    assert await column(platform, "SELECT count(*) FROM audit_records") == [0]


async def test_terminals_go_some_time_after_their_end_in_portions_too(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PORTION", 2)
    for age in (91, 92, 93, 89):
        await write(
            platform,
            "INSERT INTO terminals (id, tenant_id, project_id, allocation_id, node_id, status, opened_by, opened_by_kind,"
            ' opened_by_name, address, "columns", "rows", idle_seconds, max_seconds, open_by, ended_at, reason,'
            " correlation_id, created_at) VALUES (%s, 't', 'p', 'a', 'n', 'ended', 'u', 'user', 'u', '', 80, 24, 1, 1,"
            " now(), %s, 'closed', '-', now())",
            *(new_id("trm"), days_ago(age)),
        )
    assert await sweep(platform) == jobs.NEXT_PORTION
    assert await sweep(platform) == jobs.EVERY
    assert await column(platform, "SELECT count(*) FROM terminals") == [1]


async def test_the_database_keeps_the_last_thirty_days_of_audit_whatever_the_code_asks_for(platform: Platform) -> None:
    await audit_row(platform, days_ago(29))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with platform.transaction(PLATFORM, system_actor("test")) as tx:
            await audit.forget_before(tx, tx.now, 10)
    assert await column(platform, "SELECT count(*) FROM audit_records") == [1]


async def test_the_permission_to_forget_ends_with_the_forgetting(platform: Platform) -> None:
    await audit_row(platform, days_ago(500))

    async def forget_then_delete(tx: Tx) -> None:
        await audit.forget_before(tx, days_ago(600), 10)
        await tx.connection.execute("DELETE FROM audit_records")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with platform.transaction(PLATFORM, system_actor("test")) as tx:
            await forget_then_delete(tx)
    assert await column(platform, "SELECT count(*) FROM audit_records") == [1]
