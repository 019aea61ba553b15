"""All SQL of apps, their versions and entitlements.

The condition `_VISIBLE` says who may see an app, since row-level security shows a platform role everything. For everybody
else the row-level policies of the catalogue say the same a second time.
"""

from collections.abc import Sequence

from gpuaas_server.catalog.rows import (
    AppRow,
    AppVersionRow,
    CatalogVersionRow,
    EntitlementRow,
    LastRetirement,
    NamingVersion,
    RegisteredVersion,
    VersionFacts,
    VersionNotice,
)
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    fields_of,
    recordset_insert,
    values_insert,
    values_of,
)

Values = dict[str, object]

_APP = columns_of(AppRow)
_VERSION = columns_of(AppVersionRow, "v")
_REGISTERED = columns_of(RegisteredVersion, "v")
_ENTITLEMENT = columns_of(EntitlementRow, "e")
# A version names further digests in its runtime profiles: images of components, and files (`_referred` has the parameters).
# The digests, as a JSON array, that a manifest names in its runtime profiles: its own and those of its components.
_NAMED = "({})".format(
    " || ".join(
        f"jsonb_path_query_array(v.manifest, '$.{place}')"
        for profile in ("runtime_profile", "components[*].runtime_profile")
        for place in (f"{profile}.image", f"{profile}.artifacts[*].digest")
    )
)
_REFERS = f"(v.artifact_digest = %(digest)s OR {_NAMED} ? %(digest)s)"
_FROM = "FROM app_versions v JOIN apps a ON a.id = v.app_id"
_VISIBLE = (
    "(a.tenant_id = %(tenant)s OR a.visibility = 'public' OR (a.visibility = 'entitled' AND EXISTS"
    " (SELECT 1 FROM entitlements e WHERE e.app_id = a.id AND e.tenant_id = %(tenant)s)))"
)


async def app_insert(connection: Connection, row: AppRow) -> bool:
    """Return False when the slug is taken, even by an app that the caller cannot see."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('apps', AppRow)} ON CONFLICT ON CONSTRAINT apps_one_per_slug DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def app_lock_by_slug(connection: Connection, project_id: str, slug: str) -> AppRow | None:
    return await fetch_optional(
        connection,
        AppRow,
        f"SELECT {_APP} FROM apps WHERE slug = %s AND project_id = %s FOR UPDATE",
        (slug, project_id),
    )


async def app_describe(connection: Connection, app_id: str, values: Values) -> None:
    await connection.execute(
        "UPDATE apps SET display_name = %(display_name)s, description = %(description)s, category = %(category)s,"
        " keywords = %(keywords)s, search = %(search)s, generation = generation + 1 WHERE id = %(app_id)s",
        {**values, "app_id": app_id},
    )


async def app_list(connection: Connection, project_id: str | None, page: PageRequest) -> list[AppRow]:
    """List the apps of one project, or of the whole platform."""
    return await fetch_page(
        connection,
        AppRow,
        f"SELECT {_APP} FROM apps WHERE (%(project)s::text IS NULL OR project_id = %(project)s)",
        {"project": project_id},
        page,
    )


async def app_show(connection: Connection, project_id: str, app_id: str) -> AppRow | None:
    return await fetch_optional(
        connection, AppRow, f"SELECT {_APP} FROM apps WHERE id = %s AND project_id = %s", (app_id, project_id)
    )


async def app_exists(connection: Connection, app_id: str) -> bool:
    cursor = await connection.execute("SELECT 1 FROM apps WHERE id = %s", (app_id,))
    return await cursor.fetchone() is not None


async def app_lock(connection: Connection, app_id: str) -> AppRow | None:
    return await fetch_optional(connection, AppRow, f"SELECT {_APP} FROM apps WHERE id = %s FOR UPDATE", (app_id,))


async def app_by_slug(connection: Connection, slug: str) -> AppRow | None:
    return await fetch_optional(connection, AppRow, f"SELECT {_APP} FROM apps WHERE slug = %s", (slug,))


async def app_visibility_set(connection: Connection, app_id: str, visibility: str) -> AppRow:
    return await fetch_one(
        connection,
        AppRow,
        f"UPDATE apps SET visibility = %s, generation = generation + 1 WHERE id = %s RETURNING {_APP}",
        (visibility, app_id),
    )


async def version_insert(connection: Connection, row: RegisteredVersion) -> bool:
    """Return False when the app has this version."""
    inserted = await fetch_value(
        connection,
        str,
        f"{recordset_insert('app_versions', RegisteredVersion)}"
        " ON CONFLICT ON CONSTRAINT app_versions_one_per_version DO NOTHING RETURNING id",
        (as_json([fields_of(row)]),),
    )
    return inserted is not None


async def version_by_name(connection: Connection, app_id: str, version: str) -> AppVersionRow | None:
    return await fetch_optional(
        connection,
        AppVersionRow,
        f"SELECT {_VERSION} {_FROM} WHERE v.app_id = %s AND v.version = %s",
        (app_id, version),
    )


async def version_list(connection: Connection, project_id: str, app_id: str, page: PageRequest) -> list[AppVersionRow]:
    """List the newest version first, whenever it was registered."""
    return await fetch_all(
        connection,
        AppVersionRow,
        f"SELECT {_VERSION} {_FROM} WHERE v.app_id = %(app)s AND v.project_id = %(project)s AND (%(after)s::text IS NULL"
        " OR (v.precedence, v.id) < (SELECT precedence, id FROM app_versions WHERE id = %(after)s))"
        " ORDER BY v.precedence DESC, v.id DESC LIMIT %(limit)s",
        {"app": app_id, "project": project_id, "after": page.after, "limit": page.rows},
    )


async def version_show(
    connection: Connection, project_id: str, app_id: str, version_id: str
) -> RegisteredVersion | None:
    return await fetch_optional(
        connection,
        RegisteredVersion,
        f"SELECT {_REGISTERED} {_FROM} WHERE v.id = %s AND v.app_id = %s AND v.project_id = %s",
        (version_id, app_id, project_id),
    )


async def version_lock(
    connection: Connection, project_id: str, app_id: str, version_id: str
) -> RegisteredVersion | None:
    """Lock the version and its app: whoever changes a version may change how the app is described."""
    return await fetch_optional(
        connection,
        RegisteredVersion,
        f"SELECT {_REGISTERED} {_FROM} WHERE v.id = %s AND v.app_id = %s AND v.project_id = %s FOR UPDATE",
        (version_id, app_id, project_id),
    )


async def version_move(connection: Connection, version_id: str, status: str, changes: Values) -> AppVersionRow:
    """Set the status and the columns of `changes`, whose names are never a caller's."""
    assignments = "".join(f", {column} = %({column})s" for column in changes)
    return await fetch_one(
        connection,
        AppVersionRow,
        f"WITH v AS (UPDATE app_versions SET status = %(status)s{assignments}, generation = generation + 1"
        f" WHERE id = %(version_id)s RETURNING *) SELECT {_VERSION} FROM v JOIN apps a ON a.id = v.app_id",
        {**changes, "status": status, "version_id": version_id},
    )


async def newer_active_exists(connection: Connection, app_id: str, precedence: str) -> bool:
    newer = await fetch_value(
        connection,
        bool,
        "SELECT EXISTS (SELECT 1 FROM app_versions WHERE app_id = %s AND precedence > %s AND status = 'active')",
        (app_id, precedence),
    )
    return bool(newer)


async def active_on_digest(connection: Connection, project_id: str, digest: str) -> int:
    active = await fetch_value(
        connection,
        int,
        f"SELECT count(*) FROM app_versions v WHERE {_REFERS} AND v.status IN ('active', 'canary')"
        " AND v.project_id = %(project)s",
        {"digest": digest, "project": project_id},
    )
    return active or 0


async def versions_on_digest(connection: Connection, project_id: str, digest: str, limit: int) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT a.slug || ' ' || v.version FROM app_versions v JOIN apps a ON a.id = v.app_id"
        f" WHERE {_REFERS} AND v.status <> 'retired' AND v.project_id = %(project)s ORDER BY v.id LIMIT %(limit)s",
        {"digest": digest, "project": project_id, "limit": limit},
    )


async def digests_referred(connection: Connection, project_id: str, digests: Sequence[str]) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT n.digest FROM app_versions v CROSS JOIN LATERAL"
        f" (SELECT v.artifact_digest UNION ALL SELECT jsonb_array_elements_text({_NAMED})) AS n(digest)"
        " WHERE v.project_id = %s AND v.status <> 'retired' AND n.digest = ANY(%s)",
        (project_id, list(digests)),
    )


async def last_retirements(connection: Connection, project_id: str, digests: Sequence[str]) -> list[LastRetirement]:
    return await fetch_all(
        connection,
        LastRetirement,
        "SELECT n.digest, max(v.retired_at) AS retired_at FROM app_versions v CROSS JOIN LATERAL"
        f" (SELECT v.artifact_digest UNION ALL SELECT jsonb_array_elements_text({_NAMED})) AS n(digest)"
        " WHERE v.project_id = %(project)s AND v.retired_at IS NOT NULL AND n.digest = ANY(%(digests)s) GROUP BY n.digest",
        {"project": project_id, "digests": list(digests)},
    )


async def versions_naming(
    connection: Connection, digests: Sequence[str], project_id: str | None
) -> list[NamingVersion]:
    return await fetch_all(
        connection,
        NamingVersion,
        "SELECT DISTINCT n.digest, v.id AS version_id FROM app_versions v"
        f" CROSS JOIN LATERAL jsonb_array_elements_text({_NAMED}) AS n(digest)"
        " WHERE n.digest = ANY(%(digests)s) AND n.digest <> v.artifact_digest"
        " AND (%(project)s::text IS NULL OR v.project_id = %(project)s)",
        {"digests": list(digests), "project": project_id},
    )


async def catalog_list(connection: Connection, tenant_id: str, words: Sequence[str], page: PageRequest) -> list[AppRow]:
    """List apps with an active version that contain each of the words.

    A platform has hundreds of apps, not millions: going through them in their order costs less than an index of words.
    """
    return await fetch_all(
        connection,
        AppRow,
        f"SELECT {_APP} FROM apps a WHERE {_VISIBLE} AND (%(after)s::text IS NULL OR a.id < %(after)s)"
        " AND NOT EXISTS (SELECT 1 FROM unnest(%(words)s::text[]) w WHERE strpos(a.search, w) = 0)"
        " AND EXISTS (SELECT 1 FROM app_versions v WHERE v.app_id = a.id AND v.status IN ('active', 'canary'))"
        " ORDER BY a.id DESC LIMIT %(limit)s",
        {"tenant": tenant_id, "words": list(words), "after": page.after, "limit": page.rows},
    )


async def catalog_app(connection: Connection, tenant_id: str, slug: str) -> AppRow | None:
    return await fetch_optional(
        connection,
        AppRow,
        f"SELECT {_APP} FROM apps a WHERE a.slug = %(slug)s AND {_VISIBLE}",
        {"slug": slug, "tenant": tenant_id},
    )


async def catalog_versions(connection: Connection, app_ids: Sequence[str], most: int) -> list[CatalogVersionRow]:
    """List the canary, active and deprecated versions, newest first, at most so many of each app."""
    return await fetch_all(
        connection,
        CatalogVersionRow,
        "SELECT v.* FROM unnest(%s::text[]) AS one(app_id) CROSS JOIN LATERAL"
        f" (SELECT {columns_of(CatalogVersionRow)} FROM app_versions WHERE app_id = one.app_id"
        " AND status IN ('canary', 'active', 'deprecated') ORDER BY precedence DESC, id DESC LIMIT %s) v",
        (list(app_ids), most),
    )


async def version_to_launch(
    connection: Connection, app_id: str, version: str | None, channel: str = "stable"
) -> RegisteredVersion | None:
    """Return the version of this name, or the one of the channel: the canary, else the version that the app points to, else
    the newest active one. A draft is only ever named: its owner may launch it while it is on trial.
    """
    return await fetch_optional(
        connection,
        RegisteredVersion,
        f"SELECT {_REGISTERED} {_FROM} WHERE v.app_id = %(app)s AND CASE WHEN %(version)s::text IS NOT NULL"
        " THEN v.version = %(version)s WHEN %(channel)s = 'canary' THEN v.status IN ('canary', 'active')"
        " ELSE v.status = 'active' END ORDER BY v.status = 'canary' DESC,"
        " v.id = a.stable_version_id DESC NULLS LAST, v.precedence DESC, v.id DESC LIMIT 1",
        {"app": app_id, "version": version, "channel": channel},
    )


async def version_facts(connection: Connection, version_id: str) -> VersionFacts | None:
    """Return what decides whether the version may be taken."""
    return await fetch_optional(
        connection, VersionFacts, f"SELECT {columns_of(VersionFacts)} FROM app_versions WHERE id = %s", (version_id,)
    )


async def version_notices(connection: Connection, version_ids: Sequence[str]) -> list[VersionNotice]:
    return await fetch_all(
        connection,
        VersionNotice,
        f"SELECT {columns_of(VersionNotice)} FROM app_versions"
        " WHERE id = ANY(%s) AND status IN ('deprecated', 'retired')",
        (list(version_ids),),
    )


async def entitlement_insert(connection: Connection, row: EntitlementRow) -> bool:
    """Return False when the tenant has the entitlement already."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('entitlements', EntitlementRow)}"
        " ON CONFLICT ON CONSTRAINT entitlements_one_per_app DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def entitlement_of(connection: Connection, tenant_id: str, app_id: str) -> EntitlementRow:
    return await fetch_one(
        connection,
        EntitlementRow,
        f"SELECT {_ENTITLEMENT} FROM entitlements e JOIN apps a ON a.id = e.app_id"
        " WHERE e.tenant_id = %s AND e.app_id = %s",
        (tenant_id, app_id),
    )


async def entitlement_list(connection: Connection, wanted: dict[str, str], page: PageRequest) -> list[EntitlementRow]:
    """List the entitlements of a tenant or of an app: `wanted` names the column, tenant_id or app_id."""
    chosen = " AND ".join(f"e.{column} = %({column})s" for column in wanted)
    return await fetch_page(
        connection,
        EntitlementRow,
        f"SELECT {_ENTITLEMENT} FROM entitlements e JOIN apps a ON a.id = e.app_id WHERE {chosen}",
        {**wanted},
        page,
        key="e.id",
    )


async def entitlement_delete(connection: Connection, tenant_id: str, entitlement_id: str) -> str | None:
    """Delete the entitlement, and return the app's id; None when there is no such entitlement."""
    return await fetch_value(
        connection,
        str,
        "DELETE FROM entitlements WHERE id = %s AND tenant_id = %s RETURNING app_id",
        (entitlement_id, tenant_id),
    )
