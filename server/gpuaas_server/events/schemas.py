"""Wire types of events (CloudEvents attribute names)."""

from datetime import datetime

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId


class Event(BaseModel):
    specversion: str = "1.0"
    id: str
    source: str = "gpuaas"
    type: str = Field(examples=["allocation.active"], description="Type of the event.")
    subject: str = Field(description="Id of the resource that the event is about.")
    time: datetime
    cursor: str = Field(description="Position in the log. Send it as `after` (or Last-Event-ID) to continue from here.")
    tenant_id: str | None = Field(description="Null for an event of the platform.")
    project_id: str | None = Field(description="Null for an event of the tenant or the platform.")
    correlation_id: CorrelationId
    data: dict[str, object] = Field(description="Details of this type of event. Never a secret.")


class EventPage(BaseModel):
    items: list[Event]
    next_cursor: str = Field(description="Send as `after`, with `wait`, to continue.")
