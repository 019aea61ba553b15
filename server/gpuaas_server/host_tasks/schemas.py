"""Wire types of host tasks, as people see them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId

TaskStatus = Literal["pending", "succeeded", "failed", "refused", "expired", "superseded"]


class Task(BaseModel):
    id: str
    node_id: str
    kind: str = Field(description="Kind of task; see docs/reference/agent-protocol.md.")
    resource_id: str = Field(description="Id of the allocation, receipt or node that the task is about.")
    generation: int = Field(description="Grows with every task for the same resource. A host refuses an older one.")
    status: TaskStatus
    spec: dict[str, object] = Field(description="Specification of the task, by kind.")
    phases: list[dict[str, object]] = Field(description="Phases that the host has reported.")
    result: dict[str, object] | None = Field(description="Result of the task, by kind; null before the report.")
    evidence: dict[str, object] | None = Field(description="Evidence of what the host found.")
    failure: dict[str, object] | None = Field(
        description="code, message, next_step and retryable; null unless the task failed."
    )
    deadline: datetime = Field(description="A task that has not begun by then counts as failed and is not begun.")
    correlation_id: CorrelationId
    created_at: datetime
    reported_at: datetime | None = Field(description="When the host reported the result; null before.")
