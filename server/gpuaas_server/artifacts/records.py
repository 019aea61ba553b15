"""Shared by all verbs of artifacts: finds the row, and records a change in the audit trail and the event log."""

from gpuaas_server.artifacts.rows import ArtifactRow
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import not_found


async def record_artifact(
    tx: Tx, action: str, row: ArtifactRow, details: dict[str, object], reason: str | None = None
) -> None:
    place = (row.id, row.tenant_id, row.project_id)
    await audit.record(tx, AuditEntry(action, *place, reason=reason, details=details))
    await events.emit(tx, changed(row))


def changed(row: ArtifactRow) -> NewEvent:
    data: dict[str, object] = {"stage": row.stage, "trust": row.trust, "digest": row.digest}
    return NewEvent("artifact.changed", row.id, row.tenant_id, row.project_id, data)


def present(row: ArtifactRow | None, artifact_id: str) -> ArtifactRow:
    if row is None:
        raise not_found("artifact", artifact_id)
    return row
