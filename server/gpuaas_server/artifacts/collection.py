"""Lists artifacts that nothing refers to, with the reason and the time from which they may go, and removes them on request.

Nothing is removed without a request: an artifact belongs to its project, and everybody there sees what its bytes cost.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.artifacts import deletion, queries
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.rows import ArtifactRow
from gpuaas_server.artifacts.schemas import ArtifactCollection, ArtifactCollectionStart, GarbageArtifact
from gpuaas_server.artifacts.stages import COLLECTABLE, Stage
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.settings import Settings

PORTION = 100  # artifacts that one request looks at
_WHY = {
    Stage.DRAFT: "The artifact is a draft that no app version refers to.",
    Stage.STAGED: "The artifact is staged, and no app version refers to it.",
    Stage.DEPRECATED: "The artifact is deprecated, and no app version and no instance refers to it.",
    Stage.RETIRED: "The artifact is retired, and no instance runs from it.",
}


@dataclass(frozen=True, slots=True)
class UnusedArtifact:
    row: ArtifactRow
    since: datetime  # its grace period begins then


async def artifact_garbage_list(
    connection: Connection, settings: Settings, project_id: str, page: PageRequest, now: datetime
) -> Page[GarbageArtifact]:
    """List what a collection would remove, now or later, and change nothing. A page may have fewer items than asked for."""
    rows = await queries.collectable_artifacts(connection, project_id, sorted(COLLECTABLE), page.after, page.rows)
    more = rows[page.limit - 1].id if len(rows) > page.limit else None
    unused = await _unused(connection, project_id, rows[: page.limit])
    found = [_document(one, settings, now) for one in unused]
    return Page[GarbageArtifact](items=found, next_cursor=more)


async def artifact_garbage_collect(
    tx: Tx, settings: Settings, tenant_id: str, project_id: str, body: ArtifactCollectionStart
) -> ArtifactCollection:
    """Delete, from a portion of the project's artifacts, those that nothing refers to and whose grace period is over."""
    rows = await queries.collectable_artifacts(
        tx.connection, project_id, sorted(COLLECTABLE), body.after, PORTION + 1, lock=True
    )
    grace = timedelta(hours=settings.artifact_grace_hours)
    unused = await _unused(tx.connection, project_id, rows[:PORTION])
    due = [one for one in unused if one.since + grace <= tx.now]
    for one in due:
        await deletion.begin_deletion(tx, one.row)
    freed, digests = sum(one.row.stored_bytes for one in due), [one.row.digest for one in due]
    details: dict[str, object] = {"artifacts": len(due), "size_bytes": freed, "digests": digests}
    entry = AuditEntry(
        "artifact_garbage_collect", project_id, tenant_id, project_id, reason=body.reason, details=details
    )
    await audit.record(tx, entry)
    more = rows[PORTION - 1].id if len(rows) > PORTION else None
    return ArtifactCollection(
        items=[_document(one, settings, tx.now) for one in due], size_bytes=freed, next_cursor=more
    )


async def _unused(connection: Connection, project_id: str, rows: Sequence[ArtifactRow]) -> list[UnusedArtifact]:
    """Return the artifacts that no version and no live instance refers to, by the same rule as a deletion.

    An artifact is unused since it was published, last moved, its last version was retired or its last instance ended,
    whichever came last. An instance that was upgraded to another artifact leaves no date.
    """
    hooks, digests = artifact_hooks(), [row.digest for row in rows]
    used = {
        *await hooks.digests_referred(connection, project_id, digests),
        *await hooks.digests_running(connection, digests),
    }
    dated = (
        await hooks.last_retirements(connection, project_id, digests),
        await hooks.last_instance_ends(connection, digests),
    )
    return [
        UnusedArtifact(
            row, max(row.created_at, row.stage_since, *(found[row.digest] for found in dated if row.digest in found))
        )
        for row in rows
        if row.digest not in used
    ]


def _document(unused: UnusedArtifact, settings: Settings, now: datetime) -> GarbageArtifact:
    row, collectable_at = unused.row, unused.since + timedelta(hours=settings.artifact_grace_hours)
    stored = {name: getattr(row, name) for name in ("id", "name", "kind", "digest", "stage")}
    return GarbageArtifact(
        **stored,
        size_bytes=row.stored_bytes,
        reason=_WHY[Stage(row.stage)],
        collectable_at=collectable_at,
        due=collectable_at <= now,
    )
