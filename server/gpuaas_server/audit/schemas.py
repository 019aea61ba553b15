"""Wire type of the audit trail."""

from datetime import datetime

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId


class AuditRecord(BaseModel):
    id: str
    at: datetime
    tenant_id: str | None = Field(description="The tenant of the resource; null for the platform.")
    project_id: str | None = Field(description="The project of the resource; null if there is none.")
    actor_id: str = Field(description="Id of the user, service account, node or part of the platform.")
    actor_kind: str = Field(description="Kind of the actor, such as user or service_account.")
    actor_name: str = Field(description="Name of the actor at that time.")
    address: str = Field(description="Network address that the request came from.")
    action: str = Field(description="The operationId, or the name of a step of the platform.")
    outcome: str = Field(description="done, denied, or failed (accepted, but not successful).")
    resource_id: str | None = Field(description="Id of the changed resource.")
    reason: str | None = Field(description="Reason that the actor gave.")
    details: dict[str, object] = Field(description="What changed, by action. Never a secret.")
    correlation_id: CorrelationId
    user_agent: str = Field(description="The client's User-Agent, shortened and escaped.")
    source: str = Field(
        description="Source of the request: api, console, cli, controller or agent; system for the platform itself. Empty for"
        " old records. cli and controller are what the client declared."
    )
    site: str = Field(description="Installation that wrote the record (`GPUAAS_SITE`).")


class RetentionPeriod(BaseModel):
    name: str = Field(description="Kind of record, such as audit.")
    days: int
    description: str
    setting: str = Field(description="Name of the setting.")


class Retention(BaseModel):
    items: list[RetentionPeriod]
