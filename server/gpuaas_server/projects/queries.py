"""All SQL of tenants and projects."""

from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_TENANT = "id, slug, name, disabled, created_at, generation"
_PROJECT = "id, tenant_id, slug, name, disabled, created_at, generation"


async def tenant_insert(connection: Connection, tenant_id: str, slug: str, name: str, now: datetime) -> DictRow | None:
    """The row, or None when the slug is taken."""
    cursor = await connection.execute(
        "INSERT INTO tenants (id, slug, name, created_at) VALUES (%s, %s, %s, %s)"
        f" ON CONFLICT (slug) DO NOTHING RETURNING {_TENANT}",
        (tenant_id, slug, name, now),
    )
    return await cursor.fetchone()


async def tenant_list(connection: Connection, only: list[str] | None, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_TENANT} FROM tenants WHERE (%(only)s::text[] IS NULL OR id = ANY(%(only)s))"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"only": only, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def tenant_show(connection: Connection, tenant_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_TENANT} FROM tenants WHERE id = %s", (tenant_id,))
    return await cursor.fetchone()


async def tenant_hold(connection: Connection, tenant_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_TENANT} FROM tenants WHERE id = %s FOR UPDATE", (tenant_id,))
    return await cursor.fetchone()


async def tenant_update(connection: Connection, tenant_id: str, name: str, disabled: bool) -> DictRow:
    cursor = await connection.execute(
        f"UPDATE tenants SET name = %s, disabled = %s, generation = generation + 1 WHERE id = %s RETURNING {_TENANT}",
        (name, disabled, tenant_id),
    )
    row = await cursor.fetchone()
    return row or {}


async def project_insert(
    connection: Connection, project_id: str, tenant_id: str, slug: str, name: str, now: datetime
) -> DictRow | None:
    """The row, or None when the slug is taken in this tenant."""
    cursor = await connection.execute(
        "INSERT INTO projects (id, tenant_id, slug, name, created_at) VALUES (%s, %s, %s, %s, %s)"
        f" ON CONFLICT ON CONSTRAINT projects_one_per_slug DO NOTHING RETURNING {_PROJECT}",
        (project_id, tenant_id, slug, name, now),
    )
    return await cursor.fetchone()


async def project_list(
    connection: Connection, tenant_id: str | None, only: list[str] | None, after: str | None, limit: int
) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_PROJECT} FROM projects WHERE (%(tenant)s::text IS NULL OR tenant_id = %(tenant)s)"
        " AND (%(only)s::text[] IS NULL OR id = ANY(%(only)s))"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"tenant": tenant_id, "only": only, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def project_show(connection: Connection, project_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_PROJECT} FROM projects WHERE id = %s", (project_id,))
    return await cursor.fetchone()


async def project_facts(connection: Connection, tenant_id: str, project_ids: list[str]) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, slug, disabled FROM projects WHERE id = ANY(%s) AND tenant_id = %s ORDER BY id",
        (project_ids, tenant_id),
    )
    return await cursor.fetchall()


async def project_hold(connection: Connection, project_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_PROJECT} FROM projects WHERE id = %s FOR UPDATE", (project_id,))
    return await cursor.fetchone()


async def project_update(connection: Connection, project_id: str, name: str, disabled: bool) -> DictRow:
    cursor = await connection.execute(
        f"UPDATE projects SET name = %s, disabled = %s, generation = generation + 1 WHERE id = %s RETURNING {_PROJECT}",
        (name, disabled, project_id),
    )
    row = await cursor.fetchone()
    return row or {}


async def project_place(connection: Connection, project_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT p.tenant_id, p.disabled AS project_disabled, t.disabled AS tenant_disabled"
        " FROM projects p JOIN tenants t ON t.id = p.tenant_id WHERE p.id = %s",
        (project_id,),
    )
    return await cursor.fetchone()
