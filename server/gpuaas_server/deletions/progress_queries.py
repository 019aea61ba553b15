"""SQL of the deletions under way."""

from datetime import datetime
from typing import Literal

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import columns_of, computed, fetch_all


@dataclass(frozen=True, slots=True)
class LiveDeletion:
    """A deletion that has not ended, with the names of its place and what became of its last attempt."""

    id: str
    tenant_id: str
    project_id: str | None
    state: Literal["scheduled", "purging"]
    requested_by: str
    requested_at: datetime
    removed: dict[str, int]
    progressed_at: datetime | None
    waits_for: Literal["leftovers", "artifacts", "secrets"] | None
    waits_detail: str | None
    tenant_slug: str | None = computed("t.slug")
    project_slug: str | None = computed("p.slug")
    delete_after: datetime | None = computed(
        "CASE WHEN d.project_id IS NULL THEN t.delete_after ELSE p.delete_after END"
    )
    last_error: str | None = computed("w.last_error")


async def live_deletions(
    connection: Connection, now: datetime, progressed_before: datetime, stuck: bool, after: str | None, limit: int
) -> list[LiveDeletion]:
    """Return live deletions, newest first. `stuck`: only those that are due and made no progress since `progressed_before`."""
    return await fetch_all(
        connection,
        LiveDeletion,
        f"SELECT * FROM (SELECT {columns_of(LiveDeletion, 'd')} FROM deletions d"
        " LEFT JOIN tenants t ON t.id = d.tenant_id LEFT JOIN projects p ON p.id = d.project_id"
        " LEFT JOIN work_items w ON w.kind = 'deletion' AND w.subject = d.id"
        " WHERE d.ended_at IS NULL AND (%(after)s::text IS NULL OR d.id < %(after)s)) live"
        " WHERE NOT %(stuck)s OR (delete_after <= %(now)s AND delete_after <= %(before)s"
        " AND coalesce(progressed_at, delete_after) <= %(before)s)"
        " ORDER BY id DESC LIMIT %(limit)s",
        {"now": now, "before": progressed_before, "stuck": stuck, "after": after, "limit": limit},
    )
