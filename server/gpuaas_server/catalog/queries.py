"""All SQL of apps, their versions and entitlements.

Who may see an app is asked here in so many words (`_VISIBLE`), for a platform role looks through every wall; for everybody
else the window of 0010_catalog.sql says the same a second time.
"""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection

Values = dict[str, object]

_APP = (
    "id, tenant_id, project_id, slug, display_name, description, category, keywords, visibility, created_by, created_at,"
    " generation"
)
_VERSION = (
    "v.id, v.app_id, v.tenant_id, v.project_id, a.slug, v.version, v.runtime_version, v.artifact_kind, v.artifact_digest,"
    " v.content_digest, v.status, v.notice, v.retire_at, v.created_by, v.created_at, v.activated_at, v.deprecated_at,"
    " v.retired_at, v.generation"
)
_FROM = "FROM app_versions v JOIN apps a ON a.id = v.app_id"
_VISIBLE = (
    "(a.tenant_id = %(tenant)s OR a.visibility = 'public' OR (a.visibility = 'entitled' AND EXISTS"
    " (SELECT 1 FROM entitlements e WHERE e.app_id = a.id AND e.tenant_id = %(tenant)s)))"
)


async def app_insert(connection: Connection, values: Values) -> DictRow | None:
    """The row, or None when the slug is taken, be it by an app that the caller cannot see."""
    cursor = await connection.execute(
        "INSERT INTO apps (id, tenant_id, project_id, slug, display_name, description, category, keywords, search,"
        " visibility, created_by, created_at) VALUES (%(id)s, %(tenant_id)s, %(project_id)s, %(slug)s, %(display_name)s,"
        " %(description)s, %(category)s, %(keywords)s, %(search)s, 'private', %(created_by)s, %(now)s)"
        f" ON CONFLICT ON CONSTRAINT apps_one_per_slug DO NOTHING RETURNING {_APP}",
        values,
    )
    return await cursor.fetchone()


async def app_hold_by_slug(connection: Connection, project_id: str, slug: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_APP} FROM apps WHERE slug = %s AND project_id = %s FOR UPDATE", (slug, project_id)
    )
    return await cursor.fetchone()


async def app_describe(connection: Connection, app_id: str, values: Values) -> None:
    await connection.execute(
        "UPDATE apps SET display_name = %(display_name)s, description = %(description)s, category = %(category)s,"
        " keywords = %(keywords)s, search = %(search)s, generation = generation + 1 WHERE id = %(app_id)s",
        {**values, "app_id": app_id},
    )


async def app_list(connection: Connection, project_id: str | None, after: str | None, limit: int) -> list[DictRow]:
    """Of one project, or of the whole platform."""
    cursor = await connection.execute(
        f"SELECT {_APP} FROM apps WHERE (%(project)s::text IS NULL OR project_id = %(project)s)"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"project": project_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def app_show(connection: Connection, project_id: str, app_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_APP} FROM apps WHERE id = %s AND project_id = %s", (app_id, project_id)
    )
    return await cursor.fetchone()


async def app_exists(connection: Connection, app_id: str) -> bool:
    cursor = await connection.execute("SELECT 1 FROM apps WHERE id = %s", (app_id,))
    return await cursor.fetchone() is not None


async def app_hold(connection: Connection, app_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_APP} FROM apps WHERE id = %s FOR UPDATE", (app_id,))
    return await cursor.fetchone()


async def app_by_slug(connection: Connection, slug: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_APP} FROM apps WHERE slug = %s", (slug,))
    return await cursor.fetchone()


async def app_visibility_set(connection: Connection, app_id: str, visibility: str) -> DictRow:
    cursor = await connection.execute(
        f"UPDATE apps SET visibility = %s, generation = generation + 1 WHERE id = %s RETURNING {_APP}",
        (visibility, app_id),
    )
    return await cursor.fetchone() or {}


async def version_insert(connection: Connection, values: Values) -> DictRow | None:
    """The row, or None when the app has this version."""
    cursor = await connection.execute(
        "WITH v AS (INSERT INTO app_versions (id, tenant_id, project_id, app_id, version, precedence, runtime_version,"
        " artifact_kind, artifact_digest, manifest, content_digest, status, created_by, created_at)"
        " VALUES (%(id)s, %(tenant_id)s, %(project_id)s, %(app_id)s, %(version)s, %(precedence)s, %(runtime_version)s,"
        " %(artifact_kind)s, %(artifact_digest)s, %(manifest)s, %(content_digest)s, 'draft', %(created_by)s, %(now)s)"
        " ON CONFLICT ON CONSTRAINT app_versions_one_per_version DO NOTHING RETURNING *)"
        f" SELECT {_VERSION} FROM v JOIN apps a ON a.id = v.app_id",
        {**values, "manifest": Jsonb(values["manifest"])},
    )
    return await cursor.fetchone()


async def version_by_name(connection: Connection, app_id: str, version: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_VERSION} {_FROM} WHERE v.app_id = %s AND v.version = %s", (app_id, version)
    )
    return await cursor.fetchone()


async def version_list(
    connection: Connection, project_id: str, app_id: str, after: str | None, limit: int
) -> list[DictRow]:
    """Newest version first, whenever it was registered."""
    cursor = await connection.execute(
        f"SELECT {_VERSION} {_FROM} WHERE v.app_id = %(app)s AND v.project_id = %(project)s AND (%(after)s::text IS NULL"
        " OR (v.precedence, v.id) < (SELECT precedence, id FROM app_versions WHERE id = %(after)s))"
        " ORDER BY v.precedence DESC, v.id DESC LIMIT %(limit)s",
        {"app": app_id, "project": project_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def version_show(connection: Connection, project_id: str, app_id: str, version_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_VERSION}, v.manifest {_FROM} WHERE v.id = %s AND v.app_id = %s AND v.project_id = %s",
        (version_id, app_id, project_id),
    )
    return await cursor.fetchone()


async def version_hold(connection: Connection, project_id: str, app_id: str, version_id: str) -> DictRow | None:
    """With its app: whoever changes a version may change how the app is described."""
    cursor = await connection.execute(
        f"SELECT {_VERSION}, v.manifest, v.precedence {_FROM} WHERE v.id = %s AND v.app_id = %s AND v.project_id = %s"
        " FOR UPDATE",
        (version_id, app_id, project_id),
    )
    return await cursor.fetchone()


async def version_move(connection: Connection, version_id: str, status: str, changes: Values) -> DictRow:
    """`changes` has columns of ours, never a name that a caller sent."""
    assignments = "".join(f", {column} = %({column})s" for column in changes)
    cursor = await connection.execute(
        f"WITH v AS (UPDATE app_versions SET status = %(status)s{assignments}, generation = generation + 1"
        f" WHERE id = %(version_id)s RETURNING *) SELECT {_VERSION} FROM v JOIN apps a ON a.id = v.app_id",
        {**changes, "status": status, "version_id": version_id},
    )
    return await cursor.fetchone() or {}


async def newer_active_exists(connection: Connection, app_id: str, precedence: str) -> bool:
    cursor = await connection.execute(
        "SELECT EXISTS (SELECT 1 FROM app_versions WHERE app_id = %s AND precedence > %s AND status = 'active') AS newer",
        (app_id, precedence),
    )
    row = await cursor.fetchone()
    return bool(row and row["newer"])


async def active_on_digest(connection: Connection, project_id: str, digest: str) -> int:
    cursor = await connection.execute(
        "SELECT count(*) AS active FROM app_versions WHERE artifact_digest = %s AND status = 'active' AND project_id = %s",
        (digest, project_id),
    )
    row = await cursor.fetchone()
    return int(row["active"]) if row else 0


async def versions_on_digest(connection: Connection, project_id: str, digest: str, limit: int) -> list[str]:
    cursor = await connection.execute(
        "SELECT a.slug || ' ' || v.version AS name FROM app_versions v JOIN apps a ON a.id = v.app_id"
        " WHERE v.artifact_digest = %s AND v.status <> 'retired' AND v.project_id = %s ORDER BY v.id LIMIT %s",
        (digest, project_id, limit),
    )
    return [row["name"] for row in await cursor.fetchall()]


async def catalog_list(
    connection: Connection, tenant_id: str, words: Sequence[str], after: str | None, limit: int
) -> list[DictRow]:
    """Apps with an active version, that have every one of the words. A platform has hundreds of apps, not millions: going
    through them in their order costs less than an index of words.
    """
    cursor = await connection.execute(
        f"SELECT {_APP} FROM apps a WHERE {_VISIBLE} AND (%(after)s::text IS NULL OR a.id < %(after)s)"
        " AND NOT EXISTS (SELECT 1 FROM unnest(%(words)s::text[]) w WHERE strpos(a.search, w) = 0)"
        " AND EXISTS (SELECT 1 FROM app_versions v WHERE v.app_id = a.id AND v.status = 'active')"
        " ORDER BY a.id DESC LIMIT %(limit)s",
        {"tenant": tenant_id, "words": list(words), "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def catalog_app(connection: Connection, tenant_id: str, slug: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_APP} FROM apps a WHERE a.slug = %(slug)s AND {_VISIBLE}", {"slug": slug, "tenant": tenant_id}
    )
    return await cursor.fetchone()


async def catalog_versions(connection: Connection, app_ids: Sequence[str], most: int) -> list[DictRow]:
    """Active and deprecated ones, newest first, of each app so many."""
    cursor = await connection.execute(
        "SELECT v.* FROM unnest(%s::text[]) AS one(app_id) CROSS JOIN LATERAL (SELECT id, app_id, version,"
        " runtime_version, status, notice, retire_at FROM app_versions WHERE app_id = one.app_id"
        " AND status IN ('active', 'deprecated') ORDER BY precedence DESC, id DESC LIMIT %s) v",
        (list(app_ids), most),
    )
    return await cursor.fetchall()


async def version_to_launch(connection: Connection, app_id: str, version: str | None) -> DictRow | None:
    """The version of this name, or the newest active one. A draft is nobody's to launch, its owner's neither."""
    cursor = await connection.execute(
        f"SELECT {_VERSION}, v.manifest {_FROM} WHERE v.app_id = %(app)s AND CASE WHEN %(version)s::text IS NULL"
        " THEN v.status = 'active' ELSE v.version = %(version)s END ORDER BY v.precedence DESC, v.id DESC LIMIT 1",
        {"app": app_id, "version": version},
    )
    return await cursor.fetchone()


async def version_notices(connection: Connection, version_ids: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, version, status, notice, retire_at FROM app_versions"
        " WHERE id = ANY(%s) AND status IN ('deprecated', 'retired')",
        (list(version_ids),),
    )
    return await cursor.fetchall()


_ENTITLEMENT = "e.id, e.tenant_id, e.app_id, a.slug, a.display_name, e.granted_by, e.created_at"


async def entitlement_insert(
    connection: Connection, entitlement_id: str, tenant_id: str, app_id: str, granted_by: str, now: datetime
) -> bool:
    """Whether it is new."""
    cursor = await connection.execute(
        "INSERT INTO entitlements (id, tenant_id, app_id, granted_by, created_at) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT ON CONSTRAINT entitlements_one_per_app DO NOTHING RETURNING id",
        (entitlement_id, tenant_id, app_id, granted_by, now),
    )
    return await cursor.fetchone() is not None


async def entitlement_of(connection: Connection, tenant_id: str, app_id: str) -> DictRow:
    cursor = await connection.execute(
        f"SELECT {_ENTITLEMENT} FROM entitlements e JOIN apps a ON a.id = e.app_id"
        " WHERE e.tenant_id = %s AND e.app_id = %s",
        (tenant_id, app_id),
    )
    return await cursor.fetchone() or {}


async def entitlement_list(
    connection: Connection, wanted: dict[str, str], after: str | None, limit: int
) -> list[DictRow]:
    """`wanted` has columns of ours: tenant_id or app_id."""
    chosen = " AND ".join(f"e.{column} = %({column})s" for column in wanted)
    cursor = await connection.execute(
        f"SELECT {_ENTITLEMENT} FROM entitlements e JOIN apps a ON a.id = e.app_id WHERE {chosen}"
        " AND (%(after)s::text IS NULL OR e.id < %(after)s) ORDER BY e.id DESC LIMIT %(limit)s",
        {**wanted, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def entitlement_delete(connection: Connection, tenant_id: str, entitlement_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "DELETE FROM entitlements WHERE id = %s AND tenant_id = %s RETURNING id, app_id", (entitlement_id, tenant_id)
    )
    return await cursor.fetchone()
