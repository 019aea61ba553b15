"""Write the audit trail: every change adds a record in its own transaction."""

from dataclasses import field

from gpuaas_server.audit import queries
from gpuaas_server.audit.queries import AuditRow
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.logs import redact


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change, for the audit trail. `details` says before and after where that helps; secrets are removed from it."""

    action: str
    resource_id: str | None = None
    tenant_id: str | None = None
    project_id: str | None = None
    outcome: str = "done"
    reason: str | None = None
    details: dict[str, object] = field(default_factory=dict)


async def record(tx: Tx, *entries: AuditEntry) -> None:
    tx.later.insert(queries.AUDIT_INSERT, [_row(tx, entry) for entry in entries])
    tx.audited = True


def _row(tx: Tx, entry: AuditEntry) -> AuditRow:
    actor = tx.actor
    return AuditRow(
        id=new_id("aud"),
        at=tx.now,
        tenant_id=entry.tenant_id,
        project_id=entry.project_id,
        actor_id=actor.id,
        actor_kind=actor.kind,
        actor_name=actor.name,
        address=actor.address,
        action=entry.action,
        outcome=entry.outcome,
        resource_id=entry.resource_id,
        reason=entry.reason,
        details=redact(entry.details),
        correlation_id=actor.correlation_id,
        user_agent=actor.user_agent,
        source=actor.source,
        site=tx.site,
    )
