"""Wire types of host tasks, as people see them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId

TaskStatus = Literal["pending", "succeeded", "failed", "refused", "expired", "superseded"]


class Task(BaseModel):
    id: str
    node_id: str
    kind: str = Field(description="What the host is to do; see docs/reference/agent-protocol.md.")
    resource_id: str = Field(description="What it is about: an allocation, a receipt or the node.")
    generation: int = Field(description="Grows with every task for one resource; a host refuses an older one.")
    status: TaskStatus
    spec: dict[str, object] = Field(description="The order, by kind.")
    phases: list[dict[str, object]] = Field(description="How far it has come, as the host reported.")
    result: dict[str, object] | None = Field(description="What came of it, by kind; null before the report.")
    evidence: dict[str, object] | None = Field(description="What the host saw, as proof.")
    failure: dict[str, object] | None = Field(
        description="code, message, next_step and retryable; null unless it failed."
    )
    deadline: datetime = Field(description="It is not begun after this, and counts as failed.")
    correlation_id: CorrelationId
    created_at: datetime
    reported_at: datetime | None = Field(description="When the host reported its result; null before.")
