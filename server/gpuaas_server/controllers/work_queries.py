"""SQL of what controllers work on: the operations that wait for them or are theirs, and the instances that they serve."""

from collections.abc import Sequence

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import Row, columns_of, fetch_all, fetch_mapping

_WAITING = "o.status = 'pending' AND NOT o.deferred AND o.target <> 'bulk'"
MOST_TENANTS = 1000  # that wait for one app at a time


@dataclass(frozen=True, slots=True)
class WorkQuery:
    """Describes what a controller asks for: work of these apps, outside of its own project, and not of these tenants."""

    slugs: Sequence[str]
    own_project_id: str
    without_tenants: Sequence[str]
    each: int  # operations of one app of a tenant
    limit: int


async def operations_offered(connection: Connection, row: type[Row], wanted: WorkQuery) -> list[Row]:
    """List what waits for the apps' controller in tenants that consent, as rows of the noun `operations` (`row`). In the scope
    of the controller, which shows only the consents that were given to it.

    Tenants take turns, however many apps and operations they have: of each its oldest first, and first the tenant that was
    served longest ago. The recursion goes from tenant to tenant in the index, so the length of one queue costs nothing.
    """
    return await fetch_all(
        connection,
        row,
        f"SELECT {columns_of(row, 'w')} FROM (SELECT f.*, c.last_claimed_at,"
        "  row_number() OVER (PARTITION BY f.tenant_id ORDER BY f.turn, f.id) AS place"
        "  FROM unnest(%(slugs)s::text[]) AS app (slug)"
        "  CROSS JOIN LATERAL (WITH RECURSIVE waiting (tenant_id) AS ("
        f"   (SELECT o.tenant_id FROM app_operations o WHERE o.app_slug = app.slug AND {_WAITING}"
        "    ORDER BY o.tenant_id LIMIT 1)"
        "   UNION ALL SELECT (SELECT o.tenant_id FROM app_operations o WHERE o.app_slug = app.slug"
        f"    AND o.tenant_id > w.tenant_id AND {_WAITING} ORDER BY o.tenant_id LIMIT 1)"
        "    FROM waiting w WHERE w.tenant_id IS NOT NULL)"
        "   SELECT tenant_id FROM waiting WHERE tenant_id <> ALL(%(without)s::text[]) LIMIT %(tenants)s) t"
        "  JOIN controller_consents c ON c.tenant_id = t.tenant_id AND c.app_slug = app.slug AND c.withdrawn_at IS NULL"
        f"  CROSS JOIN LATERAL (SELECT {columns_of(row, 'o')}, row_number() OVER (ORDER BY o.id) AS turn"
        "   FROM app_operations o WHERE o.app_slug = app.slug AND o.tenant_id = t.tenant_id AND o.project_id <> %(own)s"
        f"   AND {_WAITING} ORDER BY o.id LIMIT %(each)s) f) w"
        " ORDER BY w.place, w.last_claimed_at NULLS FIRST, w.id LIMIT %(limit)s",
        {
            "slugs": list(wanted.slugs),
            "own": wanted.own_project_id,
            "without": list(wanted.without_tenants),
            "tenants": MOST_TENANTS,
            "each": wanted.each,
            "limit": wanted.limit,
        },
    )


async def claims_by_tenant(connection: Connection, account_id: str) -> dict[str, int]:
    """Count the operations that the controller works on, by tenant: of one, or, in the scope of a controller, of all."""
    return await fetch_mapping(
        connection,
        str,
        int,
        "SELECT tenant_id, count(*) FROM app_operations WHERE controller_id = %s AND lease_digest IS NOT NULL"
        " AND finished_at IS NULL AND phase IS NULL GROUP BY tenant_id",
        (account_id,),
    )


async def operations_claimed(
    connection: Connection, row: type[Row], account_id: str, replica: str, slugs: Sequence[str], limit: int
) -> list[Row]:
    """List what a replica of this name has claimed and not ended, of one tenant or, in the scope of a controller, of all."""
    return await fetch_all(
        connection,
        row,
        f"SELECT {columns_of(row)} FROM app_operations WHERE controller_id = %s AND lease_digest IS NOT NULL"
        " AND finished_at IS NULL AND phase IS NULL AND replica = %s AND app_slug = ANY(%s) ORDER BY id LIMIT %s",
        (account_id, replica, list(slugs), limit),
    )
