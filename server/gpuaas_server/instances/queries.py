"""All SQL of app instances, members and their timeline."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.ids import first_id_at
from gpuaas_server.kernel.json_text import as_json

# What a list shows; the rest (inputs, runtime, the manifest) can be large.
SUMMARY = (
    "id, tenant_id, project_id, name, app_id, app_slug, version_id, version, runtime_version, digest, status,"
    " status_since, failure, health, health_since, health_reasons, reported_at, flags, member_counts, operation_id,"
    " last_operation_id, created_by, correlation_id, created_at, deployed_at, decommissioned_at, generation, mode,"
    " secrets_stale,"
    " EXISTS (SELECT 1 FROM app_members m WHERE m.instance_id = app_instances.id AND m.operation_id IS NOT NULL)"
    " AS members_busy"
)
COLUMNS = (
    f"{SUMMARY}, publisher_project_id, previous, attempted, manifest, inputs, placement_intent, reported, next_ordinal,"
    " runtime, access_bundle, (SELECT coalesce(jsonb_agg(jsonb_build_object('project_id', p.project_id, 'slug', p.slug,"
    " 'home', p.home) ORDER BY p.home DESC, p.since, p.project_id), '[]') FROM instance_projects p"
    " WHERE p.instance_id = app_instances.id AND p.until IS NULL) AS projects"
)
MEMBER = (
    "id, tenant_id, project_id, instance_id, ordinal, component_key, allocation_id, place_project_id, node_id, status,"
    " status_since, failure, adapter_detail, operation_id, last_operation_id, correlation_id, host_gone,"
    " leaving, verified, created_at, ready_at, removed_at, generation,"
    " (SELECT n.lost_since FROM nodes n WHERE n.id = app_members.node_id) AS host_lost_since,"
    " (SELECT h.created_at FROM host_reports h WHERE h.allocation_id = app_members.allocation_id"
    "  AND h.cleared_at IS NULL) AS host_reported_at"
)

INSTANCE_INSERT = (
    "INSERT INTO app_instances (id, tenant_id, project_id, name, app_id, app_slug, version_id, version, runtime_version,"
    " digest, publisher_project_id, manifest, inputs, placement_intent, status, status_since, health, health_since,"
    " health_reasons, member_counts, next_ordinal, operation_id, last_operation_id, created_by, correlation_id, created_at)"
    " SELECT id, tenant_id, project_id, name, app_id, app_slug, version_id, version, runtime_version, digest,"
    " publisher_project_id, manifest, inputs, placement_intent, 'created', now, health, now, health_reasons,"
    " member_counts, next_ordinal, operation_id, operation_id, created_by, correlation_id, now"
    " FROM jsonb_to_recordset(%s::jsonb) AS r(id text, tenant_id text,"
    " project_id text, name text, app_id text, app_slug text, version_id text, version text, runtime_version text,"
    " digest text, publisher_project_id text, manifest jsonb, inputs jsonb, placement_intent jsonb, health text,"
    " health_reasons jsonb, member_counts jsonb, next_ordinal int, operation_id text, created_by text,"
    " correlation_id text, now timestamptz)"
)
MEMBER_INSERT = (
    "INSERT INTO app_members (id, tenant_id, project_id, instance_id, ordinal, component_key, allocation_id,"
    " place_project_id, node_id, status, status_since, operation_id, last_operation_id, correlation_id, created_at)"
    " SELECT id, tenant_id, project_id, instance_id, ordinal, component_key, allocation_id, place_project_id, node_id,"
    " 'pending', now, operation_id, operation_id, correlation_id, now FROM jsonb_to_recordset(%s::jsonb) AS r(id text,"
    " tenant_id text, project_id text, instance_id text, ordinal int, component_key text, allocation_id text,"
    " place_project_id text, node_id text, operation_id text, correlation_id text, now timestamptz)"
)
PROJECT_INSERT = (
    "INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by)"
    " SELECT * FROM jsonb_to_recordset(%s::jsonb) AS r(instance_id text, project_id text, tenant_id text, slug text,"
    " home boolean, since timestamptz, added_by text)"
)
EVENT_INSERT = (
    "INSERT INTO app_instance_events (id, tenant_id, instance_id, at, type, subject, actor, correlation_id, data)"
    " SELECT * FROM jsonb_to_recordset(%s::jsonb) AS r(id text, tenant_id text, instance_id text, at timestamptz,"
    " type text, subject text, actor text, correlation_id text, data jsonb)"
)


async def instance_insert(connection: Connection, row: dict[str, object]) -> None:
    await connection.execute(INSTANCE_INSERT, (as_json([row]),))


async def projects_insert(connection: Connection, rows: Sequence[dict[str, object]]) -> None:
    await connection.execute(PROJECT_INSERT, (as_json(list(rows)),))


async def members_insert(connection: Connection, rows: Sequence[dict[str, object]]) -> None:
    await connection.execute(MEMBER_INSERT, (as_json(list(rows)),))


async def instance_name_taken(connection: Connection, project_id: str, name: str) -> bool:
    cursor = await connection.execute(
        "SELECT 1 FROM app_instances WHERE project_id = %s AND name = %s AND decommissioned_at IS NULL",
        (project_id, name),
    )
    return await cursor.fetchone() is not None


async def name_lock(connection: Connection, project_id: str, name: str) -> None:
    """Two that make an instance of the same name at once take turns; the second then sees the first."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 12))", (f"{project_id}/{name}",))


async def instance_show(
    connection: Connection, project_id: str, instance_id: str, apps: Sequence[str] | None = None
) -> DictRow | None:
    """`apps`: those that the caller sees; None for all."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_instances WHERE id = %(id)s AND project_id = %(project)s"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": instance_id, "project": project_id, "apps": apps},
    )
    return await cursor.fetchone()


async def instance_seen(
    connection: Connection, project_id: str, instance_id: str, apps: Sequence[str] | None = None
) -> DictRow | None:
    """For readers: the project's own, or another's that serves it."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_instances WHERE id = %(id)s AND (project_id = %(project)s OR EXISTS (SELECT 1"
        " FROM instance_projects s WHERE s.instance_id = %(id)s AND s.project_id = %(project)s AND s.until IS NULL))"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": instance_id, "project": project_id, "apps": apps},
    )
    return await cursor.fetchone()


async def instance_lock(connection: Connection, project_id: str, instance_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_instances WHERE id = %s AND project_id = %s FOR UPDATE", (instance_id, project_id)
    )
    return await cursor.fetchone()


async def instance_lock_any(connection: Connection, instance_id: str) -> DictRow | None:
    """For the platform itself, whoever's it is."""
    cursor = await connection.execute(f"SELECT {COLUMNS} FROM app_instances WHERE id = %s FOR UPDATE", (instance_id,))
    return await cursor.fetchone()


@dataclass(frozen=True, slots=True)
class InstanceFilter:
    """Which instances are wanted. `served`: of other projects, those that serve this one."""

    status: str | None = None
    health: str | None = None
    app_slug: str | None = None
    served: bool = False
    allocation_id: str | None = None


async def instance_list(
    connection: Connection,
    project_id: str,
    wanted: InstanceFilter,
    after: str | None,
    limit: int,
    apps: Sequence[str] | None = None,
) -> list[DictRow]:
    """Newest first, without the large columns. The clauses are ours; only values come from outside."""
    theirs = "id IN (SELECT instance_id FROM instance_projects WHERE project_id = %s AND NOT home AND until IS NULL)"
    clauses, values = [theirs if wanted.served else "project_id = %s"], list[object]([project_id])
    for clause, value in (
        ("status = %s", wanted.status),
        ("health = %s", wanted.health),
        ("app_slug = %s", wanted.app_slug),
        ("app_slug = ANY(%s)", apps),
        (
            "id IN (SELECT instance_id FROM app_members WHERE allocation_id = %s AND removed_at IS NULL)",
            wanted.allocation_id,
        ),
        ("id < %s", after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    cursor = await connection.execute(
        # That there is a version to go back to, without its manifest.
        f"SELECT {SUMMARY}, previous -> 'version' AS previous, attempted -> 'version' AS attempted FROM app_instances"
        f" WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s",
        [*values, limit],
    )
    return await cursor.fetchall()


async def instance_change(connection: Connection, instance_id: str, changes: dict[str, object], grow: bool) -> DictRow:
    """The caller holds the row. `changes` are columns of ours; lists and documents go as JSON."""
    values = {k: Jsonb(v) if isinstance(v, dict | list) else v for k, v in changes.items()}
    assignments = ", ".join(f"{column} = %({column})s" for column in changes)
    if grow:
        assignments += ", generation = generation + 1"
    cursor = await connection.execute(
        f"UPDATE app_instances SET {assignments} WHERE id = %(id_)s RETURNING {COLUMNS}",
        {**values, "id_": instance_id},
    )
    row = await cursor.fetchone()
    if row is None:
        raise LookupError(instance_id)  # who holds a row and cannot change it is wrong about something
    return row


async def member_list(
    connection: Connection, instance_id: str, removed: bool, after: int | None, limit: int
) -> list[DictRow]:
    living = "" if removed else " AND removed_at IS NULL"
    cursor = await connection.execute(
        f"SELECT {MEMBER} FROM app_members WHERE instance_id = %s AND ordinal > %s{living} ORDER BY ordinal LIMIT %s",
        (instance_id, -1 if after is None else after, limit),
    )
    return await cursor.fetchall()


async def members_living(connection: Connection, instance_id: str) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {MEMBER} FROM app_members WHERE instance_id = %s AND removed_at IS NULL ORDER BY ordinal",
        (instance_id,),
    )
    return await cursor.fetchall()


async def member_show(connection: Connection, instance_id: str, member_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {MEMBER} FROM app_members WHERE id = %s AND instance_id = %s", (member_id, instance_id)
    )
    return await cursor.fetchone()


async def member_ordinal(connection: Connection, member_id: str) -> int | None:
    cursor = await connection.execute("SELECT ordinal FROM app_members WHERE id = %s", (member_id,))
    row = await cursor.fetchone()
    return int(row["ordinal"]) if row else None


_MEMBERS_UPDATE = (
    "UPDATE app_members m SET status = r.status, status_since = r.status_since, failure = r.failure,"
    " adapter_detail = r.adapter_detail, operation_id = r.operation_id, last_operation_id = r.last_operation_id,"
    " correlation_id = r.correlation_id, host_gone = r.host_gone, leaving = r.leaving, verified = r.verified,"
    " ready_at = r.ready_at, removed_at = r.removed_at, generation = m.generation + 1"
    " FROM jsonb_to_recordset(%s::jsonb) AS r(id text, status text, status_since timestamptz, failure jsonb,"
    " adapter_detail jsonb, operation_id text, last_operation_id text, correlation_id text, host_gone boolean,"
    " leaving boolean, verified boolean, ready_at timestamptz, removed_at timestamptz) WHERE m.id = r.id"
)


async def members_update(connection: Connection, rows: Sequence[DictRow]) -> None:
    """All that can change of some members, in one statement. The caller holds the instance, and with it its members."""
    await connection.execute(_MEMBERS_UPDATE, (as_json(list(rows)),))


async def operations_named(
    connection: Connection, instance_ids: Sequence[str], operation_ids: Sequence[str]
) -> set[str]:
    """Those that are the last one of an instance, or of a member that is not gone."""
    cursor = await connection.execute(
        "SELECT last_operation_id FROM app_instances WHERE id = ANY(%(instances)s)"
        " AND last_operation_id = ANY(%(operations)s) UNION SELECT last_operation_id FROM app_members"
        " WHERE instance_id = ANY(%(instances)s) AND removed_at IS NULL AND last_operation_id = ANY(%(operations)s)",
        {"instances": list(set(instance_ids)), "operations": list(operation_ids)},
    )
    return {row["last_operation_id"] for row in await cursor.fetchall()}


async def event_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """The oldest first, over the primary key (ids sort by time)."""
    return await rows_removed(
        connection,
        "DELETE FROM app_instance_events WHERE id = ANY(ARRAY(SELECT id FROM app_instance_events"
        " WHERE id < %s AND at < %s ORDER BY id LIMIT %s))",
        (first_id_at("iev", before), before, portion),
    )


async def busy_allocations(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, DictRow]:
    """Which of the allocations some instance lives on, and its name."""
    cursor = await connection.execute(
        "SELECT DISTINCT ON (m.allocation_id) m.allocation_id, m.instance_id, i.name FROM app_members m"
        " JOIN app_instances i ON i.id = m.instance_id WHERE m.allocation_id = ANY(%s) AND m.removed_at IS NULL",
        (list(allocation_ids),),
    )
    return {row["allocation_id"]: row for row in await cursor.fetchall()}


_PROJECT = "project_id, slug, home, since, added_by"


async def projects_served(connection: Connection, instance_id: str) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_PROJECT} FROM instance_projects WHERE instance_id = %s AND until IS NULL"
        " ORDER BY home DESC, since, project_id",
        (instance_id,),
    )
    return await cursor.fetchall()


async def project_serve(connection: Connection, row: dict[str, object]) -> None:
    """The caller holds the instance. One that was served before is served again, from now on."""
    await connection.execute(
        f"{PROJECT_INSERT} ON CONFLICT (instance_id, project_id) DO UPDATE SET since = excluded.since,"
        " until = NULL, added_by = excluded.added_by",
        (as_json([row]),),
    )


async def project_leave(connection: Connection, instance_id: str, project_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE instance_projects SET until = %s WHERE instance_id = %s AND project_id = %s AND NOT home",
        (now, instance_id, project_id),
    )


async def projects_ever(connection: Connection, instance_id: str) -> list[str]:
    """Those that the instance serves, and those that it has served."""
    cursor = await connection.execute("SELECT project_id FROM instance_projects WHERE instance_id = %s", (instance_id,))
    return [row["project_id"] for row in await cursor.fetchall()]


async def instances_on_allocation(connection: Connection, allocation_id: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT DISTINCT instance_id FROM app_members WHERE allocation_id = %s AND removed_at IS NULL"
        " ORDER BY instance_id",
        (allocation_id,),
    )
    return [row["instance_id"] for row in await cursor.fetchall()]


async def instances_on_allocations(connection: Connection, allocation_ids: Sequence[str]) -> list[DictRow]:
    """Id and tenant of every instance that has members on one of them."""
    cursor = await connection.execute(
        "SELECT DISTINCT instance_id AS id, tenant_id FROM app_members WHERE allocation_id = ANY(%s)"
        " AND removed_at IS NULL ORDER BY instance_id",
        (list(allocation_ids),),
    )
    return await cursor.fetchall()


async def allocation_guests(connection: Connection, allocation_id: str) -> bool:
    cursor = await connection.execute(
        "SELECT EXISTS (SELECT 1 FROM app_members m JOIN app_instances i ON i.id = m.instance_id"
        " WHERE m.allocation_id = %s AND m.removed_at IS NULL"
        " AND (m.leaving OR m.operation_id IS NOT NULL OR i.operation_id IS NOT NULL)) AS guests",
        (allocation_id,),
    )
    row = await cursor.fetchone()
    return bool(row and row["guests"])


async def live_instances(connection: Connection, digest: str | None, version_id: str | None) -> int:
    """Of all tenants, by a function that looks over the wall and tells nothing but the number."""
    cursor = await connection.execute("SELECT live_instances(%s, %s) AS live", (digest, version_id))
    row = await cursor.fetchone()
    return int(row["live"]) if row else 0


async def ids_with_artifact(
    connection: Connection, digest: str, publisher_project_id: str, after: str, limit: int
) -> list[str]:
    """Of all tenants: those that run from this project's artifact, or could return to it."""
    theirs = " OR ".join(
        f"({column} ->> 'digest' = %(digest)s AND {column} ->> 'publisher_project_id' = %(publisher)s)"
        for column in ("previous", "attempted")
    )
    cursor = await connection.execute(
        "SELECT id FROM app_instances WHERE decommissioned_at IS NULL AND id > %(after)s"
        f" AND ((digest = %(digest)s AND publisher_project_id = %(publisher)s) OR {theirs}) ORDER BY id LIMIT %(limit)s",
        {"digest": digest, "publisher": publisher_project_id, "after": after, "limit": limit},
    )
    return [row["id"] for row in await cursor.fetchall()]


async def ids_with_version(connection: Connection, version_id: str, after: str, limit: int) -> list[str]:
    """Of all tenants: those that run this version, or could return to it."""
    cursor = await connection.execute(
        "SELECT id FROM app_instances WHERE decommissioned_at IS NULL AND id > %(after)s AND (version_id = %(version)s"
        " OR previous ->> 'version_id' = %(version)s OR attempted ->> 'version_id' = %(version)s)"
        " ORDER BY id LIMIT %(limit)s",
        {"version": version_id, "after": after, "limit": limit},
    )
    return [row["id"] for row in await cursor.fetchall()]


async def ids_of_tenant(connection: Connection, tenant_id: str, after: str, limit: int) -> list[str]:
    cursor = await connection.execute(
        "SELECT id FROM app_instances WHERE tenant_id = %s AND decommissioned_at IS NULL AND id > %s"
        " ORDER BY id LIMIT %s",
        (tenant_id, after, limit),
    )
    return [row["id"] for row in await cursor.fetchall()]


async def event_list(connection: Connection, instance_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, at, type, subject, actor, correlation_id, data FROM app_instance_events WHERE instance_id = %s"
        " AND sequence > coalesce((SELECT sequence FROM app_instance_events WHERE id = %s), 0)"
        " ORDER BY sequence LIMIT %s",
        (instance_id, after, limit),
    )
    return await cursor.fetchall()
