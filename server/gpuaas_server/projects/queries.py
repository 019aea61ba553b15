"""All SQL of tenants and projects."""

from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_one, fetch_optional


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A tenant."""

    id: str
    slug: str
    name: str
    disabled: bool
    delete_after: datetime | None
    wipe_grade: str
    created_at: datetime
    generation: int


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project."""

    id: str
    tenant_id: str
    slug: str
    name: str
    disabled: bool
    delete_after: datetime | None
    platform: bool
    created_at: datetime
    generation: int


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """Holds what other nouns may keep of a project: its slug never changes. `disabled`: also one that is to be deleted."""

    id: str
    slug: str
    disabled: bool


@dataclass(frozen=True, slots=True)
class ProjectState:
    """Tells whether a project and its tenant are disabled, or to be deleted."""

    tenant_id: str
    project_disabled: bool
    tenant_disabled: bool
    project_deleting: bool
    tenant_deleting: bool


_TENANT = columns_of(TenantRow)
_PROJECT = columns_of(ProjectRow)


async def tenant_insert(
    connection: Connection, tenant_id: str, slug: str, name: str, now: datetime
) -> TenantRow | None:
    """Return the row, or None when the slug is taken."""
    return await fetch_optional(
        connection,
        TenantRow,
        "INSERT INTO tenants (id, slug, name, created_at) VALUES (%s, %s, %s, %s)"
        f" ON CONFLICT (slug) DO NOTHING RETURNING {_TENANT}",
        (tenant_id, slug, name, now),
    )


async def tenant_list(connection: Connection, only: list[str] | None, page: PageRequest) -> list[TenantRow]:
    return await fetch_page(
        connection,
        TenantRow,
        f"SELECT {_TENANT} FROM tenants WHERE (%(only)s::text[] IS NULL OR id = ANY(%(only)s))",
        {"only": only},
        page,
    )


async def tenant_show(connection: Connection, tenant_id: str) -> TenantRow | None:
    return await fetch_optional(connection, TenantRow, f"SELECT {_TENANT} FROM tenants WHERE id = %s", (tenant_id,))


async def tenant_lock(connection: Connection, tenant_id: str) -> TenantRow | None:
    return await fetch_optional(
        connection, TenantRow, f"SELECT {_TENANT} FROM tenants WHERE id = %s FOR UPDATE", (tenant_id,)
    )


async def tenant_update(
    connection: Connection, tenant_id: str, name: str, disabled: bool, wipe_grade: str
) -> TenantRow:
    return await fetch_one(
        connection,
        TenantRow,
        "UPDATE tenants SET name = %s, disabled = %s, wipe_grade = %s, generation = generation + 1 WHERE id = %s"
        f" RETURNING {_TENANT}",
        (name, disabled, wipe_grade, tenant_id),
    )


async def tenant_delete_after(connection: Connection, tenant_id: str, moment: datetime | None) -> None:
    await connection.execute(
        "UPDATE tenants SET delete_after = %s, generation = generation + 1 WHERE id = %s", (moment, tenant_id)
    )


async def project_insert(
    connection: Connection, project_id: str, tenant_id: str, slug: str, name: str, now: datetime
) -> ProjectRow | None:
    """Return the row, or None when the slug is taken in this tenant."""
    return await fetch_optional(
        connection,
        ProjectRow,
        "INSERT INTO projects (id, tenant_id, slug, name, created_at) VALUES (%s, %s, %s, %s, %s)"
        f" ON CONFLICT ON CONSTRAINT projects_one_per_slug DO NOTHING RETURNING {_PROJECT}",
        (project_id, tenant_id, slug, name, now),
    )


_PLATFORM_LOCK = 7_301_125  # of those who would make the platform's project


async def platform_project(connection: Connection, *, lock: bool = False) -> ProjectRow | None:
    """Return the platform's own project, if the connection may see it. `lock`: wait for whoever makes it at this moment."""
    if lock:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_PLATFORM_LOCK,))
    return await fetch_optional(connection, ProjectRow, f"SELECT {_PROJECT} FROM projects WHERE platform")


async def project_set_platform(connection: Connection, project_id: str) -> ProjectRow:
    return await fetch_one(
        connection, ProjectRow, f"UPDATE projects SET platform = true WHERE id = %s RETURNING {_PROJECT}", (project_id,)
    )


async def project_list(
    connection: Connection, tenant_id: str | None, only: list[str] | None, page: PageRequest
) -> list[ProjectRow]:
    return await fetch_page(
        connection,
        ProjectRow,
        f"SELECT {_PROJECT} FROM projects WHERE (%(tenant)s::text IS NULL OR tenant_id = %(tenant)s)"
        " AND (%(only)s::text[] IS NULL OR id = ANY(%(only)s))",
        {"tenant": tenant_id, "only": only},
        page,
    )


async def project_show(connection: Connection, project_id: str) -> ProjectRow | None:
    return await fetch_optional(connection, ProjectRow, f"SELECT {_PROJECT} FROM projects WHERE id = %s", (project_id,))


async def project_facts(connection: Connection, tenant_id: str, project_ids: list[str]) -> list[ProjectFacts]:
    return await fetch_all(
        connection,
        ProjectFacts,
        "SELECT id, slug, disabled OR delete_after IS NOT NULL AS disabled FROM projects"
        " WHERE id = ANY(%s) AND tenant_id = %s ORDER BY id",
        (project_ids, tenant_id),
    )


async def project_lock(connection: Connection, project_id: str) -> ProjectRow | None:
    return await fetch_optional(
        connection, ProjectRow, f"SELECT {_PROJECT} FROM projects WHERE id = %s FOR UPDATE", (project_id,)
    )


async def project_update(connection: Connection, project_id: str, name: str, disabled: bool) -> ProjectRow:
    return await fetch_one(
        connection,
        ProjectRow,
        f"UPDATE projects SET name = %s, disabled = %s, generation = generation + 1 WHERE id = %s RETURNING {_PROJECT}",
        (name, disabled, project_id),
    )


async def project_delete_after(connection: Connection, project_id: str, moment: datetime | None) -> None:
    await connection.execute(
        "UPDATE projects SET delete_after = %s, generation = generation + 1 WHERE id = %s", (moment, project_id)
    )


async def project_state(connection: Connection, project_id: str) -> ProjectState | None:
    return await fetch_optional(
        connection,
        ProjectState,
        "SELECT p.tenant_id, p.disabled AS project_disabled, t.disabled AS tenant_disabled,"
        " p.delete_after IS NOT NULL AS project_deleting, t.delete_after IS NOT NULL AS tenant_deleting"
        " FROM projects p JOIN tenants t ON t.id = p.tenant_id WHERE p.id = %s",
        (project_id,),
    )
