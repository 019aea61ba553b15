"""Wire type of the audit trail."""

from datetime import datetime

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId


class AuditRecord(BaseModel):
    id: str
    at: datetime
    tenant_id: str | None = Field(description="Where it happened; null: on the platform.")
    project_id: str | None = Field(description="Where it happened; null: not in one project.")
    actor_id: str = Field(description="Id of the user, service account, node or part of the platform.")
    actor_kind: str = Field(description="What the actor is, such as user or service_account.")
    actor_name: str = Field(description="As it was called then.")
    address: str = Field(description="Where the request came from.")
    action: str = Field(description="What was done: the operationId, or the name of a step of the platform's own.")
    outcome: str = Field(description="done, denied, or failed: accepted, and did not succeed.")
    resource_id: str | None = Field(description="What it was done to.")
    reason: str | None = Field(description="What the actor said.")
    details: dict[str, object] = Field(description="What changed, by action; never a secret.")
    correlation_id: CorrelationId
    user_agent: str = Field(description="What the client called itself, bounded and escaped.")
    source: str = Field(
        description="How the request came: api, console, cli, controller, agent; system: the platform's own. Empty: from"
        " before it was recorded. cli and controller are what the client declared."
    )
    site: str = Field(description="The installation that recorded it (`GPUAAS_SITE`).")


class RetentionPeriod(BaseModel):
    name: str = Field(description="What is kept, such as audit.")
    days: int
    description: str
    setting: str = Field(description="The setting that an operator changes it with.")


class Retention(BaseModel):
    items: list[RetentionPeriod]
