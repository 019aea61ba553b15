"""Wire type of the audit trail."""

from datetime import datetime

from pydantic import BaseModel


class AuditRecord(BaseModel):
    id: str
    at: datetime
    tenant_id: str | None
    project_id: str | None
    actor_id: str
    actor_kind: str
    actor_name: str
    address: str
    action: str
    outcome: str
    resource_id: str | None
    reason: str | None
    details: dict[str, object]
    correlation_id: str
