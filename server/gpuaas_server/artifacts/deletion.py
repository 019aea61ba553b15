"""The end of an artifact: refused while something refers to it; then its bytes go, and its row and quota last."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_server.artifacts import backends, queries
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.machine import DELETE
from gpuaas_server.artifacts.rows import ArtifactRow
from gpuaas_server.artifacts.schemas import Artifact
from gpuaas_server.artifacts.service import artifact_document, present
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import ArtifactUse
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases

MOST_NAMED = 20


async def artifact_delete(tx: Tx, settings: Settings, project_id: str, artifact_id: str, caller: Caller) -> Artifact:
    """Delete the artifact and its bytes for ever. From here on nothing is launched from it; asking again changes nothing."""
    row = present(await queries.artifact_lock(tx.connection, project_id, artifact_id), artifact_id)
    if row.deleting_since is None:
        await _require_unused(tx.connection, row)
        row = await queries.artifact_mark_deleting(tx.connection, artifact_id, tx.now)
        await artifact_hooks().standing_changed(tx, row.digest, row.project_id)
        await leases.enqueue(tx, DELETE, [artifact_id], flow=row.tenant_id)
    resource = (row.id, row.tenant_id, row.project_id)
    details: dict[str, object] = {"digest": row.digest, "size_bytes": row.size_bytes, "name": row.name}
    await audit.record(tx, AuditEntry("artifact_delete", *resource, details=details))
    await events.emit(tx, NewEvent("artifact.deleting", *resource, {"digest": row.digest, "name": row.name}))
    return artifact_document(row, settings, caller)


async def _require_unused(connection: Connection, row: ArtifactRow) -> None:
    versions = await artifact_hooks().versions(connection, row.project_id, row.digest, MOST_NAMED)
    live = await artifact_hooks().live_instances(connection, row.digest)
    if not versions and not live:
        return
    sentences = [f"App versions that are not retired refer to it: {', '.join(versions)}."] if versions else []
    sentences += [f"{live} live instance(s) run on this digest."] if live else []
    raise Problem("artifact_in_use", " ".join(sentences), {"app_versions": versions, "live_instances": live})


@dataclass(frozen=True, slots=True)
class DeletionSnapshot:
    artifact: ArtifactRow
    neighbours: list[str]  # digests of the repository's other images


class ArtifactDeleteMachine:
    """Removes the bytes outside any transaction; a store that is away is tried again until it is back."""

    kind = DELETE

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def load(self, connection: Connection, subject: str) -> DeletionSnapshot | None:
        artifact = await queries.artifact_load(connection, subject)
        if artifact is None or artifact.deleting_since is None:
            return None
        return DeletionSnapshot(artifact, await queries.neighbour_digests(connection, artifact.location, subject))

    def decide(self, snapshot: DeletionSnapshot, now: datetime) -> None:
        return None

    async def act(self, platform: Platform, snapshot: DeletionSnapshot, decision: None) -> None:
        artifact = snapshot.artifact
        if artifact.kind == "blob":
            await backends.blob_store(platform.settings).remove(artifact.location)
        else:
            registry = await backends.registry(platform)
            await registry.remove_image(artifact.location, artifact.digest, snapshot.neighbours)

    async def apply(self, tx: Tx, snapshot: DeletionSnapshot, decision: None) -> None:
        artifact = snapshot.artifact
        if not await queries.artifact_remove(tx.connection, artifact.id):
            return
        use = ArtifactUse(artifact.tenant_id, artifact.project_id, -1, -artifact.size_bytes)
        await capacity.count_artifacts(tx, self._settings, use)
        resource = (artifact.id, artifact.tenant_id, artifact.project_id)
        details: dict[str, object] = {"digest": artifact.digest, "size_bytes": artifact.size_bytes}
        await audit.record(tx, AuditEntry("artifact_deleted", *resource, details=details))
        await events.emit(tx, NewEvent("artifact.deleted", *resource, {"digest": artifact.digest}))
