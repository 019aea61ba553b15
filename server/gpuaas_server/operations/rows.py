"""The rows of operations, and the documents that they keep."""

from dataclasses import field
from datetime import datetime
from typing import TypedDict

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import FailureDocument


class StepDocument(TypedDict):
    name: str
    member_id: str | None
    status: str
    message: str | None
    started_at: str
    finished_at: str | None


class ProgressDocument(TypedDict):
    percent: int | None
    message: str | None


class ForcedDocument(TypedDict):
    by: str
    at: str
    reason: str
    verified: bool


@dataclass(frozen=True, slots=True)
class OperationRow:
    id: str
    tenant_id: str
    project_id: str
    instance_id: str
    app_slug: str
    kind: str
    target: str  # instance, member or bulk
    member_id: str | None
    new_member_id: str | None
    parent_id: str | None
    on_failure: str | None
    deferred: bool  # not offered to controllers yet: one before it in a bulk operation has not succeeded
    status: str
    status_since: datetime
    phase: str | None
    status_before: str | None  # the instance's, should no controller ever claim it
    parameters: dict[str, object]
    steps: list[StepDocument]
    progress: ProgressDocument | None
    failure: FailureDocument | None
    forced: ForcedDocument | None
    children: dict[str, int] | None  # of a bulk operation: how many are in which status
    reason: str | None
    requested_by: str
    requested_by_name: str
    correlation_id: str
    attempt: int
    controller_id: str | None
    replica: str | None
    lease_digest: str | None
    lease_until: datetime | None
    cancel_requested_at: datetime | None
    created_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    deadline_at: datetime
    generation: int


@dataclass(frozen=True, slots=True)
class NewOperation:
    """A row to insert; the statement derives the status and the lane. `ordinal` is that of the member."""

    id: str
    tenant_id: str
    project_id: str
    instance_id: str
    app_slug: str
    kind: str
    target: str
    reason: str | None
    requested_by: str
    requested_by_name: str
    correlation_id: str
    now: datetime
    deadline_at: datetime
    parameters: dict[str, object] = field(default_factory=dict)
    member_id: str | None = None
    new_member_id: str | None = None
    parent_id: str | None = None
    on_failure: str | None = None
    deferred: bool = False
    ordinal: int | None = None
    status_before: str | None = None
    children: dict[str, int] | None = None


class OperationChanges(TypedDict, total=False):
    """The columns that change after an operation was asked for."""

    deferred: bool
    status: str
    status_since: datetime
    phase: str | None
    steps: list[StepDocument]
    progress: ProgressDocument
    failure: FailureDocument | None
    forced: ForcedDocument
    children: dict[str, int]
    attempt: int
    controller_id: str
    replica: str | None
    lease_digest: str | None
    lease_until: datetime | None
    cancel_requested_at: datetime
    claimed_at: datetime
    finished_at: datetime
    deadline_at: datetime


@dataclass(frozen=True, slots=True)
class ChildOperation:
    """One operation below a bulk operation."""

    id: str
    status: str
    deferred: bool


@dataclass(frozen=True, slots=True)
class EndedOperation:
    id: str
    instance_id: str
    target: str


@dataclass(frozen=True, slots=True)
class WaitingOperation:
    """An operation that waits for a controller, or that one has claimed."""

    id: str
    tenant_id: str
    project_id: str
    instance_id: str
    app_slug: str
    kind: str
    target: str
    member_id: str | None
    attempt: int
    created_at: datetime
    deadline_at: datetime
