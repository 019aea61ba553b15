"""Wire types of nodes, tasks and enrolment tokens, as people see them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Name, Reason

NodeStatus = Literal["enrolled", "ready", "lost", "retired"]
TaskStatus = Literal["pending", "succeeded", "failed", "refused", "expired", "superseded"]
LabelKey = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9./_-]{0,61}[a-z0-9])?$")]
LabelValue = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=50, json_schema_extra={"additionalProperties": False})]


class EnrolmentTokenCreate(Body):
    note: Name | None = None
    expires_in_seconds: Annotated[int, Field(ge=60, le=30 * 86400)] = 3600
    max_uses: Annotated[int, Field(ge=1, le=10_000)] = 1


class EnrolmentToken(BaseModel):
    id: str
    note: str | None
    max_uses: int
    uses: int
    expires_at: datetime
    revoked_at: datetime | None
    created_by: str
    created_at: datetime


class EnrolmentTokenCreated(BaseModel):
    id: str
    bundle: str = Field(description="Shown once. Give it to the agent of the new host.")
    expires_at: datetime
    max_uses: int


class NodeUpdate(Body):
    name: Name | None = None
    labels: Labels | None = None


class NodeReason(Body):
    reason: Reason


class Maintenance(BaseModel):
    reason: str
    since: datetime
    by: str


class SlotCounts(BaseModel):
    total: int = 0
    available: int = 0
    claimed: int = 0
    cleaning: int = 0
    cleanup_blocked: int = 0
    disabled: int = 0
    discovered: int = 0


class Node(BaseModel):
    id: str
    name: str
    hostname: str
    address: str
    status: NodeStatus
    schedulable: bool = Field(description="Alive, approved and not cordoned: new allocations may land here.")
    cordoned: bool
    draining: bool
    drained: bool = Field(description="Draining, and nothing is claimed any more.")
    maintenance: Maintenance | None
    agent_version: str
    last_seen_at: datetime | None
    lost_since: datetime | None
    retired_at: datetime | None
    boot_id: str | None
    slots: SlotCounts
    inventory: dict[str, object] = Field(description="What the agent last reported: host, warnings.")
    labels: dict[str, str]
    allowed_actions: list[str]
    generation: int
    created_at: datetime


class Task(BaseModel):
    id: str
    node_id: str
    kind: str
    resource_id: str
    generation: int
    status: TaskStatus
    spec: dict[str, object]
    phases: list[dict[str, object]]
    result: dict[str, object] | None
    evidence: dict[str, object] | None
    failure: dict[str, object] | None
    deadline: datetime
    correlation_id: str
    created_at: datetime
    reported_at: datetime | None
