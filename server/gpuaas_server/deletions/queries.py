"""SQL of deletions. What is removed is named by the inventory, in fixed words of ours; only values come from outside."""

from collections.abc import Mapping
from datetime import datetime

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.deletions.inventory import Stage
from gpuaas_server.deletions.machine import Leftover
from gpuaas_server.kernel.database import Connection, rows_removed

_DELETION = "d.id, d.tenant_id, d.project_id, d.state, d.requested_by, d.requested_at, d.removed"
EXAMPLES = 3

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
        cursor = await connection.execute(
            f"SELECT count(*) AS n, (array_agg(id ORDER BY id))[1:{EXAMPLES}] AS some FROM ({statement}) one".encode(),
            {"projects": projects},
        )
        row = await cursor.fetchone()
        if row is not None and row["n"]:
            found.append(Leftover(what, row["n"], tuple(row["some"])))
    return tuple(found)


async def project_ids(connection: Connection, tenant_id: str) -> list[str]:
    cursor = await connection.execute("SELECT id FROM projects WHERE tenant_id = %s ORDER BY id", (tenant_id,))
    return [row["id"] for row in await cursor.fetchall()]


async def deletion_insert(
    connection: Connection, deletion_id: str, tenant_id: str, project_id: str | None, requested_by: str, now: datetime
) -> None:
    await connection.execute(
        "INSERT INTO deletions (id, tenant_id, project_id, requested_by, requested_at) VALUES (%s, %s, %s, %s, %s)",
        (deletion_id, tenant_id, project_id, requested_by, now),
    )


async def deletion_lock_live(connection: Connection, tenant_id: str, project_id: str | None) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_DELETION} FROM deletions d WHERE d.tenant_id = %s AND d.project_id IS NOT DISTINCT FROM %s"
        " AND d.ended_at IS NULL FOR UPDATE",
        (tenant_id, project_id),
    )
    return await cursor.fetchone()


async def deletion_load(connection: Connection, deletion_id: str) -> DictRow | None:
    """With the date of the place, or NULL when the place is gone."""
    cursor = await connection.execute(
        f"SELECT {_DELETION}, CASE WHEN d.project_id IS NULL"
        " THEN (SELECT t.delete_after FROM tenants t WHERE t.id = d.tenant_id)"
        " ELSE (SELECT p.delete_after FROM projects p WHERE p.id = d.project_id) END AS delete_after"
        " FROM deletions d WHERE d.id = %s",
        (deletion_id,),
    )
    return await cursor.fetchone()


async def deletion_moved(connection: Connection, deletion_id: str, before: str, state: str) -> bool:
    """False when it is not in the state of before any more."""
    cursor = await connection.execute(
        "UPDATE deletions SET state = %s WHERE id = %s AND state = %s RETURNING id", (state, deletion_id, before)
    )
    return await cursor.fetchone() is not None


async def deletion_ended(connection: Connection, deletion_id: str, state: str, now: datetime) -> None:
    await connection.execute("UPDATE deletions SET state = %s, ended_at = %s WHERE id = %s", (state, now, deletion_id))


async def deletion_progressed(connection: Connection, deletion_id: str, removed: Mapping[str, int]) -> None:
    await connection.execute("UPDATE deletions SET removed = %s WHERE id = %s", (Jsonb(dict(removed)), deletion_id))


async def parents(connection: Connection, stage: Stage, place: str, portion: int) -> list[str]:
    cursor = await connection.execute(
        f"SELECT id FROM {stage.table} WHERE {stage.where} ORDER BY id LIMIT %(portion)s".encode(),
        {"place": place, "portion": portion},
    )
    return [row["id"] for row in await cursor.fetchall()]


async def children_remove(connection: Connection, table: str, column: str, of: list[str], portion: int) -> int:
    return await rows_removed(
        connection,
        f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE {column} = ANY(%s) LIMIT %s))",
        (of, portion),
    )


async def parents_remove(connection: Connection, table: str, ids: list[str]) -> int:
    return await rows_removed(connection, f"DELETE FROM {table} WHERE id = ANY(%s)", (ids,))


async def parents_scrub(connection: Connection, stage: Stage, ids: list[str], now: datetime) -> int:
    cursor = await connection.execute(
        f"UPDATE {stage.table} SET {stage.instead} WHERE id = ANY(%(ids)s) RETURNING id".encode(),
        {"ids": ids, "now": now},
    )
    return len(await cursor.fetchall())


async def rows_remove(connection: Connection, stage: Stage, place: str, portion: int) -> int:
    """Of a table without children."""
    cursor = await connection.execute(
        f"WITH gone AS (DELETE FROM {stage.table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {stage.table}"
        f" WHERE {stage.where} LIMIT %(portion)s)) RETURNING 1) SELECT count(*) AS n FROM gone".encode(),
        {"place": place, "portion": portion},
    )
    row = await cursor.fetchone()
    return int(row["n"]) if row else 0


async def members_detach(connection: Connection, project_id: str) -> None:
    """Members of other projects' instances that were on allocations of this one, long removed: the instances keep them."""
    await connection.execute(
        "UPDATE app_members m SET place_project_id = NULL FROM instance_projects i WHERE i.project_id = %(project)s"
        " AND i.until IS NOT NULL AND m.instance_id = i.instance_id AND m.place_project_id = %(project)s"
        " AND m.removed_at IS NOT NULL",
        {"project": project_id},
    )


async def deletions_close(connection: Connection, tenant_id: str, now: datetime) -> None:
    """Those of projects that went with their tenant."""
    await connection.execute(
        "UPDATE deletions SET state = 'purged', ended_at = %s WHERE tenant_id = %s AND ended_at IS NULL",
        (now, tenant_id),
    )
