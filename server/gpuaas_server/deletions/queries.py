"""SQL of deletions. What is removed is named by the inventory, in fixed words of ours; only values come from outside."""

from collections.abc import Mapping
from datetime import datetime

from psycopg.types.json import Jsonb

from gpuaas_server.deletions.inventory import Stage
from gpuaas_server.deletions.machine import DeletionObstacle, Leftover
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)

EXAMPLES = 3
_WAITS_FOR_NOTHING = "waits_for = NULL, waits_count = NULL, waits_detail = NULL"


@dataclass(frozen=True, slots=True)
class NewDeletion:
    """A requested deletion to insert."""

    id: str
    tenant_id: str
    project_id: str | None
    requested_by: str
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class DeletionRow(NewDeletion):
    """The deletion of a project, or without one of the tenant. `removed` counts the rows that went, by table."""

    state: str
    removed: dict[str, int]


@dataclass(frozen=True, slots=True)
class ScheduledDeletion(DeletionRow):
    """A deletion with the date of its place; NULL when the place is gone, or its deletion was undone."""

    delete_after: datetime | None


@dataclass(frozen=True, slots=True)
class _LeftoverCount:
    """Counts the things that are left, and names some of them by id."""

    count: int
    some: list[str] | None


# What keeps a place from being deleted, and the statement that picks it. `%(projects)s` are the projects of the place.
_LEFTOVERS = {
    "allocation(s) that are not released": "SELECT id FROM allocations WHERE project_id = ANY(%(projects)s)"
    " AND ended_at IS NULL AND state <> 'release_failed'",
    "release(s) that are not proven": "SELECT id FROM allocations WHERE project_id = ANY(%(projects)s)"
    " AND ended_at IS NULL AND state = 'release_failed'",
    "instance(s) that are not decommissioned": "SELECT id FROM app_instances WHERE project_id = ANY(%(projects)s)"
    " AND decommissioned_at IS NULL",
    "operation(s) that have not ended": "SELECT id FROM app_operations WHERE project_id = ANY(%(projects)s)"
    " AND finished_at IS NULL",
    "teardown receipt(s) that are not settled": "SELECT id FROM teardown_receipts WHERE project_id = ANY(%(projects)s)"
    " AND status = 'pending'",
    "instance(s) of other projects that serve it": "SELECT i.instance_id AS id FROM instance_projects i"
    " WHERE i.project_id = ANY(%(projects)s) AND NOT i.home AND i.until IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM app_instances a WHERE a.id = i.instance_id AND a.decommissioned_at IS NOT NULL)",
    # live_instances looks past the tenant wall, and says how many, never which: the app's version is named.
    "version(s) of its apps that instances elsewhere run": "SELECT v.id FROM apps a JOIN app_versions v ON v.app_id = a.id"
    " WHERE a.project_id = ANY(%(projects)s) AND live_instances(NULL, v.id) > (SELECT count(*) FROM app_instances o"
    " WHERE o.version_id = v.id AND o.decommissioned_at IS NULL AND o.project_id = ANY(%(projects)s))",
}


async def leftovers(connection: Connection, projects: list[str]) -> tuple[Leftover, ...]:
    found = []
    for what, statement in _LEFTOVERS.items():
        row = await fetch_one(
            connection,
            _LeftoverCount,
            f"SELECT count(*), (array_agg(id ORDER BY id))[1:{EXAMPLES}] AS some FROM ({statement}) one",
            {"projects": projects},
        )
        if row.count:
            found.append(Leftover(what, row.count, tuple(row.some or ())))
    return tuple(found)


async def project_ids(connection: Connection, tenant_id: str) -> list[str]:
    return await fetch_values(connection, str, "SELECT id FROM projects WHERE tenant_id = %s ORDER BY id", (tenant_id,))


async def deletion_insert(connection: Connection, row: NewDeletion) -> None:
    await connection.execute(values_insert("deletions", NewDeletion), values_of(row))


async def deletion_lock_live(connection: Connection, tenant_id: str, project_id: str | None) -> DeletionRow | None:
    return await fetch_optional(
        connection,
        DeletionRow,
        f"SELECT {columns_of(DeletionRow, 'd')} FROM deletions d WHERE d.tenant_id = %s"
        " AND d.project_id IS NOT DISTINCT FROM %s AND d.ended_at IS NULL FOR UPDATE",
        (tenant_id, project_id),
    )


async def deletion_load(connection: Connection, deletion_id: str) -> ScheduledDeletion | None:
    return await fetch_optional(
        connection,
        ScheduledDeletion,
        f"SELECT {columns_of(DeletionRow, 'd')}, CASE WHEN d.project_id IS NULL"
        " THEN (SELECT t.delete_after FROM tenants t WHERE t.id = d.tenant_id)"
        " ELSE (SELECT p.delete_after FROM projects p WHERE p.id = d.project_id) END AS delete_after"
        " FROM deletions d WHERE d.id = %s",
        (deletion_id,),
    )


async def deletion_moved(connection: Connection, deletion_id: str, before: str, state: str, now: datetime) -> bool:
    """Move the deletion on. False when it is not in the state `before` any more."""
    cursor = await connection.execute(
        f"UPDATE deletions SET state = %s, progressed_at = %s, {_WAITS_FOR_NOTHING} WHERE id = %s AND state = %s RETURNING id",
        (state, now, deletion_id, before),
    )
    return await cursor.fetchone() is not None


async def deletion_ended(connection: Connection, deletion_id: str, state: str, now: datetime) -> None:
    await connection.execute(
        f"UPDATE deletions SET state = %s, ended_at = %s, {_WAITS_FOR_NOTHING} WHERE id = %s", (state, now, deletion_id)
    )


async def deletion_progressed(
    connection: Connection, deletion_id: str, removed: Mapping[str, int], now: datetime
) -> None:
    await connection.execute(
        f"UPDATE deletions SET removed = %s, progressed_at = %s, {_WAITS_FOR_NOTHING} WHERE id = %s",
        (Jsonb(dict(removed)), now, deletion_id),
    )


async def deletion_waits(connection: Connection, deletion_id: str, obstacle: DeletionObstacle, now: datetime) -> None:
    """Note what the deletion waits for. It got on when that is other than before, or more or less of the same."""
    await connection.execute(
        "UPDATE deletions SET progressed_at = CASE WHEN (waits_for, waits_count) IS DISTINCT FROM (%(what)s, %(count)s)"
        " THEN %(now)s ELSE progressed_at END,"
        " waits_for = %(what)s, waits_count = %(count)s, waits_detail = %(detail)s WHERE id = %(id)s",
        {"id": deletion_id, "what": obstacle.what, "count": obstacle.count, "detail": obstacle.detail, "now": now},
    )


async def store_error(connection: Connection, project_id: str, kinds: list[str]) -> str | None:
    """Return what a store answered when work of these kinds last failed for something of the project; None: none has."""
    return await fetch_value(
        connection,
        str,
        "SELECT w.last_error FROM work_items w WHERE w.last_error IS NOT NULL AND w.kind = ANY(%(kinds)s) AND w.subject IN"
        " (SELECT id FROM artifacts WHERE project_id = %(project)s"
        " UNION ALL SELECT id FROM publish_intents WHERE project_id = %(project)s"
        " UNION ALL SELECT id FROM secrets WHERE project_id = %(project)s) ORDER BY w.id LIMIT 1",
        {"project": project_id, "kinds": kinds},
    )


async def parents(connection: Connection, stage: Stage, place: str, portion: int) -> list[str]:
    return await fetch_values(
        connection,
        str,
        f"SELECT id FROM {stage.table} WHERE {stage.where} ORDER BY id LIMIT %(portion)s",
        {"place": place, "portion": portion},
    )


async def children_remove(connection: Connection, table: str, column: str, of: list[str], portion: int) -> int:
    return await rows_removed(
        connection,
        f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE {column} = ANY(%s) LIMIT %s))",
        (of, portion),
    )


async def parents_remove(connection: Connection, table: str, ids: list[str]) -> int:
    return await rows_removed(connection, f"DELETE FROM {table} WHERE id = ANY(%s)", (ids,))


async def parents_scrub(connection: Connection, stage: Stage, ids: list[str], now: datetime) -> int:
    scrubbed = await fetch_values(
        connection,
        str,
        f"UPDATE {stage.table} SET {stage.instead} WHERE id = ANY(%(ids)s) RETURNING id",
        {"ids": ids, "now": now},
    )
    return len(scrubbed)


async def rows_remove(connection: Connection, stage: Stage, place: str, portion: int) -> int:
    """Remove a portion of the place's rows from a table without children."""
    removed = await fetch_value(
        connection,
        int,
        f"WITH gone AS (DELETE FROM {stage.table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {stage.table}"
        f" WHERE {stage.where} LIMIT %(portion)s)) RETURNING 1) SELECT count(*) FROM gone",
        {"place": place, "portion": portion},
    )
    return removed or 0


async def members_detach(connection: Connection, project_id: str) -> None:
    """Forget the project in removed members of other projects' instances, which keep those members."""
    await connection.execute(
        "UPDATE app_members m SET place_project_id = NULL FROM instance_projects i WHERE i.project_id = %(project)s"
        " AND i.until IS NOT NULL AND m.instance_id = i.instance_id AND m.place_project_id = %(project)s"
        " AND m.removed_at IS NOT NULL",
        {"project": project_id},
    )


async def deletions_close(connection: Connection, tenant_id: str, now: datetime) -> None:
    """End the deletions of projects that went with their tenant."""
    await connection.execute(
        f"UPDATE deletions SET state = 'purged', ended_at = %s, {_WAITS_FOR_NOTHING} WHERE tenant_id = %s AND ended_at IS NULL",
        (now, tenant_id),
    )
