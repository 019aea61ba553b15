"""All SQL of host tasks."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.host_tasks.rows import CreatedTask, LockedTask, Notification, TaskRow
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_optional, fetch_value, recordset_insert

_TASK = columns_of(TaskRow)

TASK_INSERT = recordset_insert("node_tasks", CreatedTask)
# A newer generation replaces what its resource still waits for. The status is spelled so that no index of pending tasks
# fits: in a young table the planner would walk through all of them.
TASK_REPLACE = (
    "UPDATE node_tasks o SET status = 'superseded', reported_at = f.created_at"
    " FROM jsonb_populate_recordset(NULL::node_tasks, %s::jsonb) f"
    " WHERE o.resource_id = f.resource_id AND o.generation < f.generation AND (o.status || '') = 'pending'"
)


async def task_notifies(connection: Connection, node_id: str, task_id: str) -> Notification | None:
    return await fetch_optional(
        connection,
        Notification,
        f"SELECT {columns_of(Notification)} FROM node_tasks WHERE id = %s AND node_id = %s",
        (task_id, node_id),
    )


async def task_lock(connection: Connection, node_id: str, task_id: str) -> LockedTask | None:
    return await fetch_optional(
        connection,
        LockedTask,
        f"SELECT {columns_of(LockedTask)} FROM node_tasks WHERE id = %s AND node_id = %s FOR UPDATE",
        (task_id, node_id),
    )


async def task_report(
    connection: Connection,
    task_id: str,
    status: str,
    phases: str,
    result: str,
    evidence: str,
    failure: str | None,
    digest: bytes,
    key_generation: int,
    now: datetime,
) -> None:
    await connection.execute(
        "UPDATE node_tasks SET status = %s, phases = %s, result = %s, evidence = %s, failure = %s,"
        " report_sha256 = %s, reported_key_generation = %s, reported_at = %s WHERE id = %s",
        (status, phases, result, evidence, failure, digest, key_generation, now, task_id),
    )


async def task_progress(connection: Connection, node_id: str, task_id: str, generation: int, phases: str) -> bool:
    cursor = await connection.execute(
        "UPDATE node_tasks SET phases = %s WHERE id = %s AND node_id = %s AND generation = %s"
        " AND status = 'pending' RETURNING id",
        (phases, task_id, node_id, generation),
    )
    return await cursor.fetchone() is not None


async def tasks_of_resource(connection: Connection, resource_id: str) -> list[TaskRow]:
    return await fetch_all(
        connection,
        TaskRow,
        f"SELECT {_TASK} FROM node_tasks WHERE resource_id = %s ORDER BY generation",
        (resource_id,),
    )


async def newest_tasks(connection: Connection, resource_ids: Sequence[str]) -> list[TaskRow]:
    return await fetch_all(
        connection,
        TaskRow,
        f"SELECT t.* FROM unnest(%s::text[]) AS r(wanted) CROSS JOIN LATERAL (SELECT {_TASK} FROM node_tasks"
        "   WHERE resource_id = r.wanted ORDER BY generation DESC LIMIT 1) t",
        (list(resource_ids),),
    )


async def task_show(connection: Connection, task_id: str) -> TaskRow | None:
    return await fetch_optional(connection, TaskRow, f"SELECT {_TASK} FROM node_tasks WHERE id = %s", (task_id,))


async def task_list(connection: Connection, node_id: str, page: PageRequest) -> list[TaskRow]:
    return await fetch_page(
        connection,
        TaskRow,
        f"SELECT {_TASK} FROM node_tasks WHERE node_id = %s",
        (node_id,),
        page,
    )


async def next_generation(connection: Connection, resource_id: str) -> int:
    """Return the next generation of the resource's tasks. The caller holds a lock on the resource."""
    statement = "SELECT coalesce(max(generation), 0) + 1 FROM node_tasks WHERE resource_id = %s"
    return await fetch_value(connection, int, statement, (resource_id,)) or 1


async def task_fail(connection: Connection, task_id: str, failure: str) -> None:
    await connection.execute("UPDATE node_tasks SET status = 'failed', failure = %s WHERE id = %s", (failure, task_id))


async def tasks_delete_of(connection: Connection, resource_ids: Sequence[str]) -> None:
    await connection.execute(
        "DELETE FROM node_tasks WHERE resource_id = ANY(%s) AND status <> 'pending'", (list(resource_ids),)
    )


async def tasks_delete_served(
    connection: Connection, repeated: Sequence[str], told: Sequence[str], before: datetime, portion: int
) -> int:
    """Delete finished tasks. Of repeated ones the newest of a resource stays: the next one takes the generation after it."""
    return await rows_removed(
        connection,
        "DELETE FROM node_tasks WHERE id = ANY(ARRAY(SELECT t.id FROM node_tasks t"
        " WHERE t.status <> 'pending' AND t.reported_at < %s AND (t.kind = ANY(%s) OR (t.kind = ANY(%s) AND EXISTS (SELECT 1"
        " FROM node_tasks n WHERE n.resource_id = t.resource_id AND n.generation > t.generation)))"
        " ORDER BY t.reported_at LIMIT %s))",
        (before, list(told), list(repeated), portion),
    )


async def tasks_expire(connection: Connection, overdue_before: datetime, now: datetime) -> list[Notification]:
    return await fetch_all(
        connection,
        Notification,
        "UPDATE node_tasks SET status = 'expired', reported_at = %s,"
        ' failure = \'{"code": "deadline_exceeded", "message": "No result came before the deadline.",'
        ' "next_step": "Look at the node, then retry.", "retryable": true}\''
        " WHERE id IN (SELECT id FROM node_tasks WHERE status = 'pending' AND deadline < %s"
        " ORDER BY deadline LIMIT 500 FOR UPDATE SKIP LOCKED)"
        f" RETURNING {columns_of(Notification)}",
        (now, overdue_before),
    )
