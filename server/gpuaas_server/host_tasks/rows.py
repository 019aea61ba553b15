"""The rows of host tasks: each class has the columns of the table, or of one question to the database."""

from datetime import datetime
from typing import TypedDict

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import FailureDocument


class PhaseDocument(TypedDict):
    """A phase of a task, as the agent reported it and as it is stored; the moments are ISO texts."""

    name: str
    status: str  # running, succeeded, failed, skipped
    started_at: str | None
    finished_at: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task as it is stored, with what the agent reported."""

    id: str
    node_id: str
    tenant_id: str | None
    kind: str
    resource_id: str
    generation: int
    spec: dict[str, object]
    status: str  # pending, succeeded, failed, refused, expired, superseded
    phases: list[PhaseDocument]
    result: dict[str, object] | None
    evidence: dict[str, object] | None
    failure: FailureDocument | None
    deadline: datetime
    correlation_id: str
    created_at: datetime
    reported_at: datetime | None
    reported_key_generation: int | None  # of the node's key that signed the report


@dataclass(frozen=True, slots=True)
class CreatedTask:
    """The columns that a creation writes."""

    id: str
    node_id: str
    tenant_id: str | None
    kind: str
    resource_id: str
    generation: int
    spec: dict[str, object]
    deadline: datetime
    correlation_id: str
    traceparent: str
    notify_kind: str
    notify_subject: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Notification:
    """The work row that runs when a task's result is in."""

    notify_kind: str
    notify_subject: str


@dataclass(frozen=True, slots=True)
class LockedTask:
    """Holds what decides whether a report of the task is taken."""

    kind: str
    resource_id: str
    generation: int
    status: str
    report_sha256: bytes | None
