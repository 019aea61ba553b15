"""All SQL of app instances, the projects that they serve, and their timeline. That of members is in member_queries.py."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.types.json import Jsonb

from gpuaas_server.instances.rows import (
    InstanceChanges,
    InstanceRow,
    LastInstanceEnd,
    ListedInstanceRow,
    NewInstance,
    NewServedProject,
    NewTimelineEvent,
    ServedProjectRow,
    TimelineEventRow,
)
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import first_id_at
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    recordset_insert,
)

_COLUMNS = columns_of(InstanceRow)
_INSERT = (
    "INSERT INTO app_instances (id, tenant_id, project_id, name, app_id, app_slug, version_id, version, runtime_version,"
    " digest, publisher_project_id, manifest, inputs, reconcile_policy, placement_intent, status, status_since,"
    " health, health_since, health_reasons, created_by, correlation_id, created_at)"
    " SELECT id, tenant_id, project_id, name, app_id, app_slug, version_id, version, runtime_version, digest,"
    " publisher_project_id, manifest, inputs, reconcile_policy, '[]', 'created', now, health, now, health_reasons, created_by,"
    " correlation_id, now FROM jsonb_to_recordset(%s::jsonb) AS r(id text, tenant_id text, project_id text, name text,"
    " app_id text, app_slug text, version_id text, version text, runtime_version text, digest text,"
    " publisher_project_id text, manifest jsonb, inputs jsonb, reconcile_policy text, health text, health_reasons jsonb,"
    " created_by text, correlation_id text, now timestamptz)"
)
_PROJECT_INSERT = recordset_insert("instance_projects", NewServedProject)
EVENT_INSERT = recordset_insert("app_instance_events", NewTimelineEvent)


async def instance_insert(connection: Connection, row: NewInstance) -> None:
    await connection.execute(_INSERT, (as_json([row]),))


async def instance_name_taken(connection: Connection, project_id: str, name: str) -> bool:
    found = await fetch_value(
        connection,
        int,
        "SELECT 1 FROM app_instances WHERE project_id = %s AND name = %s AND decommissioned_at IS NULL",
        (project_id, name),
    )
    return found is not None


async def name_lock(connection: Connection, project_id: str, name: str) -> None:
    """Have two that make an instance of the same name at once take turns; the second then sees the first."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 12))", (f"{project_id}/{name}",))


async def instance_show(
    connection: Connection, project_id: str, instance_id: str, apps: Sequence[str] | None = None
) -> InstanceRow | None:
    """Return the instance. `apps`: those that the caller sees; None for all."""
    return await fetch_optional(
        connection,
        InstanceRow,
        f"SELECT {_COLUMNS} FROM app_instances WHERE id = %(id)s AND project_id = %(project)s"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": instance_id, "project": project_id, "apps": apps},
    )


async def instance_seen(
    connection: Connection, project_id: str, instance_id: str, apps: Sequence[str] | None = None
) -> InstanceRow | None:
    """Find an instance for readers: the project's own, or another's that serves it."""
    return await fetch_optional(
        connection,
        InstanceRow,
        f"SELECT {_COLUMNS} FROM app_instances WHERE id = %(id)s AND (project_id = %(project)s OR EXISTS (SELECT 1"
        " FROM instance_projects s WHERE s.instance_id = %(id)s AND s.project_id = %(project)s AND s.until IS NULL))"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": instance_id, "project": project_id, "apps": apps},
    )


async def instance_lock(connection: Connection, project_id: str, instance_id: str) -> InstanceRow | None:
    return await fetch_optional(
        connection,
        InstanceRow,
        f"SELECT {_COLUMNS} FROM app_instances WHERE id = %s AND project_id = %s FOR UPDATE",
        (instance_id, project_id),
    )


async def instance_lock_any(connection: Connection, instance_id: str) -> InstanceRow | None:
    """Lock an instance for the platform itself, whoever's it is."""
    return await fetch_optional(
        connection, InstanceRow, f"SELECT {_COLUMNS} FROM app_instances WHERE id = %s FOR UPDATE", (instance_id,)
    )


@dataclass(frozen=True, slots=True)
class InstanceFilter:
    """Chooses which instances are wanted. `served`: of other projects, those that serve this one."""

    status: str | None = None
    health: str | None = None
    app_slug: str | None = None
    served: bool = False
    allocation_id: str | None = None


async def instance_list(
    connection: Connection,
    project_id: str,
    wanted: InstanceFilter,
    page: PageRequest,
    apps: Sequence[str] | None = None,
) -> list[ListedInstanceRow]:
    """List the newest first, without the large columns. The clauses are ours; only values come from outside."""
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
        ("id < %s", page.after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    return await fetch_all(
        connection,
        ListedInstanceRow,
        f"SELECT {columns_of(ListedInstanceRow)} FROM app_instances"
        f" WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s",
        [*values, page.rows],
    )


async def instance_change(
    connection: Connection, instance_id: str, changes: InstanceChanges, grow: bool
) -> InstanceRow:
    """Caller must hold the row lock. Lists and documents go as JSON."""
    values = {k: Jsonb(v) if isinstance(v, dict | list) else v for k, v in changes.items()}
    assignments = ", ".join(f"{column} = %({column})s" for column in changes)
    if grow:
        assignments += ", generation = generation + 1"
    return await fetch_one(
        connection,
        InstanceRow,
        f"UPDATE app_instances SET {assignments} WHERE id = %(id_)s RETURNING {_COLUMNS}",
        {**values, "id_": instance_id},
    )


async def live_instances(connection: Connection, digest: str | None, version_ids: Sequence[str]) -> int:
    """Count over all tenants, by an SQL function that passes the tenant wall and tells nothing but the number: those of the
    versions of this artifact, if there is a digest, and those of further versions.
    """
    counted = await fetch_value(
        connection,
        int,
        "SELECT (CASE WHEN %(digest)s::text IS NULL THEN 0 ELSE live_instances(%(digest)s, NULL) END"
        " + coalesce((SELECT sum(live_instances(NULL, id)) FROM unnest(%(versions)s::text[]) AS id), 0))::bigint",
        {"digest": digest, "versions": list(version_ids)},
    )
    return counted or 0


async def digests_running(
    connection: Connection, digests: Sequence[str], naming: Sequence[tuple[str, str]]
) -> list[str]:
    """Return those of the digests with a live instance of any tenant: of a version of the artifact, or of a version that
    names it (pairs of a digest and a version).
    """
    return await fetch_values(
        connection,
        str,
        "SELECT digest FROM unnest(%s::text[]) AS d(digest) WHERE live_instances(digest, NULL) > 0 UNION"
        " SELECT digest FROM unnest(%s::text[], %s::text[]) AS n(digest, version) WHERE live_instances(NULL, version) > 0",
        (list(digests), [digest for digest, _ in naming], [version for _, version in naming]),
    )


async def last_ends(
    connection: Connection, digests: Sequence[str], naming: Sequence[tuple[str, str]]
) -> list[LastInstanceEnd]:
    """Return when an instance of any tenant last ended that ran from the digest, as `digests_running` has it."""
    return await fetch_all(
        connection,
        LastInstanceEnd,
        "SELECT digest, max(ended) AS ended_at FROM ("
        "SELECT digest, last_instance_end(digest, NULL) AS ended FROM unnest(%s::text[]) AS d(digest) UNION ALL"
        " SELECT digest, last_instance_end(NULL, version) FROM unnest(%s::text[], %s::text[]) AS n(digest, version)"
        ") AS ends WHERE ended IS NOT NULL GROUP BY digest",
        (list(digests), [digest for digest, _ in naming], [version for _, version in naming]),
    )


# The instances whose flags may change, of all tenants


async def ids_with_artifact(
    connection: Connection, artifact: tuple[str, str], version_ids: Sequence[str], after: str, limit: int
) -> list[str]:
    """Find those that run from this artifact (digest, publishing project), or could return to it. `version_ids` are the
    versions in which a component runs it.
    """
    theirs = " OR ".join(
        f"({column} ->> 'digest' = %(digest)s AND {column} ->> 'publisher_project_id' = %(publisher)s)"
        f" OR {column} ->> 'version_id' = ANY(%(versions)s)"
        for column in ("previous", "attempted")
    )
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM app_instances WHERE decommissioned_at IS NULL AND id > %(after)s"
        f" AND ((digest = %(digest)s AND publisher_project_id = %(publisher)s)"
        f" OR version_id = ANY(%(versions)s) OR {theirs}) ORDER BY id LIMIT %(limit)s",
        {
            "digest": artifact[0],
            "publisher": artifact[1],
            "versions": list(version_ids),
            "after": after,
            "limit": limit,
        },
    )


async def ids_with_version(connection: Connection, version_id: str, after: str, limit: int) -> list[str]:
    """Return the ids of instances that run this version, or could return to it."""
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM app_instances WHERE decommissioned_at IS NULL AND id > %(after)s AND (version_id = %(version)s"
        " OR previous ->> 'version_id' = %(version)s OR attempted ->> 'version_id' = %(version)s)"
        " ORDER BY id LIMIT %(limit)s",
        {"version": version_id, "after": after, "limit": limit},
    )


async def ids_of_tenant(connection: Connection, tenant_id: str, after: str, limit: int) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM app_instances WHERE tenant_id = %s AND decommissioned_at IS NULL AND id > %s"
        " ORDER BY id LIMIT %s",
        (tenant_id, after, limit),
    )


# The projects that an instance serves


async def projects_insert(connection: Connection, rows: Sequence[NewServedProject]) -> None:
    await connection.execute(_PROJECT_INSERT, (as_json(list(rows)),))


async def projects_served(connection: Connection, instance_id: str) -> list[ServedProjectRow]:
    return await fetch_all(
        connection,
        ServedProjectRow,
        f"SELECT {columns_of(ServedProjectRow)} FROM instance_projects WHERE instance_id = %s AND until IS NULL"
        " ORDER BY home DESC, since, project_id",
        (instance_id,),
    )


async def project_serve(connection: Connection, row: NewServedProject) -> None:
    """Caller must have locked the instance. One that was served before is served again, from now on."""
    await connection.execute(
        f"{_PROJECT_INSERT} ON CONFLICT (instance_id, project_id) DO UPDATE SET since = excluded.since,"
        " until = NULL, added_by = excluded.added_by",
        (as_json([row]),),
    )


async def project_leave(connection: Connection, instance_id: str, project_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE instance_projects SET until = %s WHERE instance_id = %s AND project_id = %s AND NOT home",
        (now, instance_id, project_id),
    )


async def projects_ever(connection: Connection, instance_id: str) -> list[str]:
    """List the projects that the instance serves or has served."""
    return await fetch_values(
        connection, str, "SELECT project_id FROM instance_projects WHERE instance_id = %s", (instance_id,)
    )


# The timeline


async def event_list(connection: Connection, instance_id: str, after: str | None, limit: int) -> list[TimelineEventRow]:
    return await fetch_all(
        connection,
        TimelineEventRow,
        f"SELECT {columns_of(TimelineEventRow)} FROM app_instance_events WHERE instance_id = %s"
        " AND sequence > coalesce((SELECT sequence FROM app_instance_events WHERE id = %s), 0)"
        " ORDER BY sequence LIMIT %s",
        (instance_id, after, limit),
    )


async def event_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """Delete the oldest first, by the primary key (ids sort by time)."""
    return await rows_removed(
        connection,
        "DELETE FROM app_instance_events WHERE id = ANY(ARRAY(SELECT id FROM app_instance_events"
        " WHERE id < %s AND at < %s ORDER BY id LIMIT %s))",
        (first_id_at("iev", before), before, portion),
    )
