"""Wire types of events (CloudEvents attribute names)."""

from datetime import datetime

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId


class Event(BaseModel):
    specversion: str = "1.0"
    id: str
    source: str = "gpuaas"
    type: str = Field(examples=["allocation.active"])
    subject: str = Field(description="The id of what it is about.")
    time: datetime
    cursor: str = Field(description="The position in the log: send as `after` (or Last-Event-ID) to go on from here.")
    tenant_id: str | None = Field(description="Null: of the platform.")
    project_id: str | None = Field(description="Null: of the tenant, or of the platform.")
    correlation_id: CorrelationId
    data: dict[str, object] = Field(description="What belongs to this type of event; never a secret.")


class EventPage(BaseModel):
    items: list[Event]
    next_cursor: str = Field(description="Send as `after`, with `wait`, to go on.")
