"""SQL of the registry's bytes: what must stay there, what is there, and whether there is room for more."""

from collections.abc import Mapping
from datetime import datetime

from gpuaas_server.artifacts.rows import ExceededQuota, ImageLocation
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import fetch_all, fetch_optional, fetch_value, fetch_values


async def kept_images(connection: Connection) -> list[ImageLocation]:
    """Return every image that is an artifact. One that is being deleted counts too: its own deletion removes it."""
    return await fetch_all(
        connection,
        ImageLocation,
        "SELECT location AS repository, digest FROM artifacts WHERE kind = 'oci' AND registry IS NULL",
    )


async def open_repositories(connection: Connection) -> list[str]:
    """Return the repositories for which a publish intent is open."""
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT project_id || '/' || name FROM publish_intents WHERE kind = 'oci' AND registry IS NULL"
        " AND ended_at IS NULL",
    )


async def usage_store(connection: Connection, sizes: Mapping[str, int], now: datetime) -> None:
    """Store what was measured, for every project that exists; a project without bytes has no row."""
    projects, sizes_bytes = list(sizes), list(sizes.values())
    await connection.execute("DELETE FROM registry_usage WHERE project_id <> ALL(%s)", (projects,))
    await connection.execute(
        "INSERT INTO registry_usage AS u (project_id, tenant_id, size_bytes, measured_at)"
        " SELECT p.id, p.tenant_id, m.size_bytes, %s FROM unnest(%s::text[], %s::bigint[]) AS m(project_id, size_bytes)"
        " JOIN projects p ON p.id = m.project_id ON CONFLICT (project_id) DO UPDATE SET size_bytes = EXCLUDED.size_bytes,"
        " measured_at = EXCLUDED.measured_at",
        (now, projects, sizes_bytes),
    )


async def is_push_expected(connection: Connection, project_id: str, name: str) -> bool:
    """Tell whether an intent is open for the repository, or it has an image, which may be signed."""
    expected = await fetch_value(
        connection,
        bool,
        "SELECT EXISTS (SELECT 1 FROM publish_intents WHERE project_id = %(project)s AND name = %(name)s AND kind = 'oci'"
        " AND registry IS NULL AND ended_at IS NULL) OR EXISTS (SELECT 1 FROM artifacts WHERE project_id = %(project)s"
        " AND kind = 'oci' AND registry IS NULL AND location = %(project)s || '/' || %(name)s AND deleting_since IS NULL)",
        {"project": project_id, "name": name},
    )
    return bool(expected)


# Bytes that are in the registry and belong to no artifact and no open intent count against the quotas too. An image's
# size is counted for each artifact, and layers that images share are there once: what is there may be less.
_UNREGISTERED = (
    "SELECT coalesce(sum(greatest(0, u.size_bytes"
    " - (SELECT coalesce(sum(a.size_bytes), 0) FROM artifacts a WHERE a.project_id = u.project_id AND a.kind = 'oci'"
    " AND a.registry IS NULL)"
    " - (SELECT coalesce(sum(i.reserved_bytes), 0) FROM publish_intents i WHERE i.project_id = u.project_id"
    " AND i.kind = 'oci' AND i.ended_at IS NULL AND i.quota_reserved))), 0) FROM registry_usage u"
)


async def exceeded_scope(
    connection: Connection, project_id: str, tenant_id: str, default_bytes: int
) -> ExceededQuota | None:
    """Return the project or the tenant that has no bytes left for a push, or None."""
    return await fetch_optional(
        connection,
        ExceededQuota,
        "SELECT s.scope, s.most AS limit, s.used::bigint AS used FROM ("
        " SELECT 1 AS n, 'project' AS scope, q.artifact_byte_limit AS most, coalesce(q.artifact_bytes_used, 0)"
        f" + ({_UNREGISTERED} WHERE u.project_id = %(project)s) AS used"
        " FROM (SELECT 1) one LEFT JOIN quotas q ON q.scope_id = %(project)s"
        " UNION ALL SELECT 2, 'tenant', coalesce(q.artifact_byte_limit, %(most)s), coalesce(q.artifact_bytes_used, 0)"
        f" + ({_UNREGISTERED} WHERE u.tenant_id = %(tenant)s)"
        " FROM (SELECT 1) one LEFT JOIN quotas q ON q.scope_id = %(tenant)s) s"
        " WHERE s.used >= s.most AND s.used > 0 ORDER BY s.n LIMIT 1",
        {"project": project_id, "tenant": tenant_id, "most": default_bytes},
    )
