"""The reconciler of an artifact's deletion: it removes the bytes, then the row, and frees the quota last."""

from datetime import datetime

from gpuaas_server.artifacts import backends, publish_intents, queries
from gpuaas_server.artifacts.machine import DELETE
from gpuaas_server.artifacts.rows import ArtifactRow
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import ArtifactUse
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.settings import Settings


@dataclass(frozen=True, slots=True)
class DeletionSnapshot:
    artifact: ArtifactRow
    neighbours: list[str]  # digests of the repository's other images


class ArtifactDeleteReconciler:
    """Removes the bytes outside any transaction. It tries again while the store does not answer."""

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
        if artifact.registry is not None:
            return
        if artifact.kind == "blob":
            await backends.blob_store(platform.settings).remove(artifact.location)
        else:
            registry = await backends.registry(platform)
            await registry.remove_image(artifact.location, artifact.digest, snapshot.neighbours)

    async def apply(self, tx: Tx, snapshot: DeletionSnapshot, decision: None) -> None:
        artifact = snapshot.artifact
        if not await queries.artifact_remove(tx.connection, artifact.id):
            return
        await publish_intents.destroy_credential(tx, artifact.pull_secret_id)
        use = ArtifactUse(artifact.tenant_id, artifact.project_id, -1, -artifact.stored_bytes)
        await capacity.count_artifacts(tx, self._settings, use)
        resource = (artifact.id, artifact.tenant_id, artifact.project_id)
        details: dict[str, object] = {"digest": artifact.digest, "size_bytes": artifact.size_bytes}
        await audit.record(tx, AuditEntry("artifact_deleted", *resource, details=details))
        await events.emit(tx, NewEvent("artifact.deleted", *resource, {"digest": artifact.digest}))
