"""The request to delete an artifact, refused while something refers to it. `ArtifactDeleteJob` then removes its bytes."""

from gpuaas_server.artifacts import queries
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.machine import DELETE
from gpuaas_server.artifacts.rows import ArtifactRow
from gpuaas_server.artifacts.schemas import Artifact
from gpuaas_server.artifacts.service import artifact_document, present
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases

MOST_NAMED = 20


async def artifact_delete(tx: Tx, settings: Settings, artifact_id: str, caller: Caller) -> Artifact:
    """Delete the artifact and its bytes for ever. From here on nothing is launched from it; asking again changes nothing."""
    row = present(await queries.artifact_lock(tx.connection, caller.project_id, artifact_id), artifact_id)
    if row.deleting_since is None:
        await _require_unused(tx.connection, row)
        row = await begin_deletion(tx, row)
    resource = (row.id, row.tenant_id, row.project_id)
    details: dict[str, object] = {"digest": row.digest, "size_bytes": row.size_bytes, "name": row.name}
    await audit.record(tx, AuditEntry("artifact_delete", *resource, details=details))
    return artifact_document(row, settings, caller)


async def begin_deletion(tx: Tx, row: ArtifactRow) -> ArtifactRow:
    """Mark the artifact, and have its bytes removed. Caller must hold the row lock and have found nothing that refers to it."""
    row = await queries.artifact_mark_deleting(tx.connection, row.id, tx.now)
    await artifact_hooks().artifact_changed(tx, row.digest, row.project_id)
    await leases.enqueue(tx, DELETE, [row.id], flow=row.tenant_id)
    resource = (row.id, row.tenant_id, row.project_id)
    await events.emit(tx, NewEvent("artifact.deleting", *resource, {"digest": row.digest, "name": row.name}))
    return row


async def _require_unused(connection: Connection, row: ArtifactRow) -> None:
    versions = await artifact_hooks().versions(connection, row.project_id, row.digest, MOST_NAMED)
    live = await artifact_hooks().live_instances(connection, row.digest)
    if not versions and not live:
        return
    sentences = [f"App versions that are not retired refer to it: {', '.join(versions)}."] if versions else []
    sentences += [f"{live} live instance(s) run on this digest."] if live else []
    raise Problem("artifact_in_use", " ".join(sentences), {"app_versions": versions, "live_instances": live})
