"""Tasks of hosts behind the tenant wall: the database itself shows a tenant its own only."""

from datetime import timedelta

import pytest
from psycopg.errors import CheckViolation, InsufficientPrivilege

from gpuaas_server.host_tasks import queries
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import NOBODY, PLATFORM, Connection, Scope
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from tests_support.agents import Host, Site
from tests_support.select import select

OWN, OTHER = new_id("tnt"), new_id("tnt")
ACTOR = system_actor("test", "correlation-of-a-test")


async def send(
    platform: Platform,
    host: Host,
    tenant_id: str | None,
    resource_id: str,
    generation: int = 1,
    scope: Scope = PLATFORM,
) -> str:
    async with platform.transaction(scope, ACTOR) as tx:
        return await host_tasks.task_create(
            tx,
            node_id=host.node_id,
            tenant_id=tenant_id,
            kind="provision",
            resource_id=resource_id,
            generation=generation,
            spec={"allocation_id": resource_id, "secret": tenant_id},
            deadline=tx.now + timedelta(minutes=5),
            notify_kind="allocation",
            notify_subject=resource_id,
        )


async def everything(connection: Connection, task_id: str, resource_id: str, node_id: str) -> list[object]:
    """What each way to read a task shows."""
    return [
        await queries.task_show(connection, task_id),
        *await queries.tasks_of_resource(connection, resource_id),
        *await queries.newest_tasks(connection, [resource_id]),
        *await queries.task_list(connection, node_id, PageRequest(None, 50)),
        await queries.task_lock(connection, node_id, task_id),
    ]


async def test_a_tenant_sees_its_own_tasks_and_none_of_another(site: Site) -> None:
    host, resource = await site.host(), new_id("alc")
    task_id = await send(site.platform, host, OWN, resource)
    await site.admin.post(f"/nodes/{host.node_id}/discover")
    for scope, seen in ((Scope(OWN), 5), (Scope(OTHER), 0), (NOBODY, 0), (PLATFORM, 6)):
        async with site.platform.database.connection(scope) as connection:
            found = await everything(connection, task_id, resource, host.node_id)
        assert len([row for row in found if row is not None]) == seen, scope


async def test_a_tenant_changes_and_removes_none_of_another(site: Site) -> None:
    host, resource = await site.host(), new_id("alc")
    task_id = await send(site.platform, host, OWN, resource)
    async with site.platform.transaction(Scope(OTHER), ACTOR) as tx:
        assert not await queries.task_progress(tx.connection, host.node_id, task_id, 1, "[]")
        await queries.task_fail(tx.connection, task_id, "{}")
        await tx.connection.execute("DELETE FROM node_tasks")
    assert [task["task_id"] for task in await host.poll()] == [task_id]


async def test_a_task_of_another_tenant_is_neither_written_nor_replaced(site: Site) -> None:
    host, resource = await site.host(), new_id("alc")
    task_id = await send(site.platform, host, OWN, resource)
    with pytest.raises(InsufficientPrivilege):
        await send(site.platform, host, OWN, resource, 2, Scope(OTHER))
    await send(site.platform, host, OTHER, resource, 3, Scope(OTHER))
    offered = {task["task_id"] for task in await host.poll()}
    assert task_id in offered
    newer = await send(site.platform, host, OWN, resource, 4, Scope(OWN))
    assert task_id not in {task["task_id"] for task in await host.poll(have=newer)}


async def test_only_a_task_about_the_node_itself_is_without_a_tenant(site: Site) -> None:
    host = await site.host()
    with pytest.raises(CheckViolation):
        await send(site.platform, host, None, new_id("alc"))
    await send(site.platform, host, None, host.node_id)


PENDING = (
    "EXPLAIN SELECT n.id, t.spec FROM nodes n LEFT JOIN node_tasks t ON t.node_id = n.id AND t.status = 'pending'"
    " WHERE n.id = ANY(ARRAY['nod_1', 'nod_2'])"
)
NEWEST = (
    "EXPLAIN SELECT t.* FROM unnest(ARRAY['alc_1']) AS r(wanted) CROSS JOIN LATERAL (SELECT spec FROM node_tasks"
    " WHERE resource_id = r.wanted ORDER BY generation DESC LIMIT 1) t"
)
OVERDUE = "EXPLAIN SELECT id FROM node_tasks WHERE status = 'pending' AND deadline < now() ORDER BY deadline LIMIT 500"
MANY_NODES = (
    "INSERT INTO nodes (id, name, hostname, address, public_key, ssh_host_public_key, agent_version, created_at)"
    " SELECT 'nod_' || i, 'n' || i, 'n', 'n', ('\\x' || lpad(to_hex(i), 8, '0'))::bytea, 'k', '1', now()"
    " FROM generate_series(1, 1000) i"
)
MANY_TASKS = (
    "INSERT INTO node_tasks (id, node_id, tenant_id, kind, resource_id, generation, spec, deadline, correlation_id,"
    " traceparent, notify_kind, notify_subject, created_at) SELECT 'tsk_' || i, 'nod_' || i, 't', 'wipe', 'alc_' || i, 1,"
    " '{}', now() + interval '1 h', '-', '', 'x', 'x', now() FROM generate_series(1, 1000) i"
)


async def test_the_wall_leaves_the_indexes_in_use(platform: Platform) -> None:
    """A condition that the wall must come before would be a filter over all tasks."""
    async with platform.database.connection(PLATFORM) as connection:
        for statement in (MANY_NODES, MANY_TASKS, "ANALYZE nodes, node_tasks"):
            await connection.execute(statement.encode())
    used = {PENDING: "node_tasks_pending", NEWEST: "node_tasks_one_per_generation", OVERDUE: "node_tasks_overdue"}
    for scope in (PLATFORM, Scope(OWN)):
        async with platform.database.connection(scope) as connection:
            for question, index in used.items():
                cursor = await select(connection, question)
                plan = "\n".join(str(row["QUERY PLAN"]) for row in await cursor.fetchall())
                of_tasks = plan.partition(f"using {index} on node_tasks")[2]
                assert of_tasks.splitlines()[1].strip().startswith("Index Cond"), plan
