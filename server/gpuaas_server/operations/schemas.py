"""Wire types of operations, as people read them and as controllers report on them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import LINES, AllowedActions, Body, CorrelationId, Generation, Reason, examples
from gpuaas_server.kernel.ids import MemberId
from gpuaas_server.kernel.operation_kinds import OperationKind

OperationStatus = Literal["pending", "claimed", "running", "succeeded", "failed", "cancelled", "expired"]
StepStatus = Literal["running", "succeeded", "failed", "skipped"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=LINES)]
StepName = Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9_./:-]{0,99}$")]
LeaseToken = Annotated[str, StringConstraints(pattern="^lease_[A-Za-z0-9_-]{43}$")]
Replica = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$")]


class OperationFailure(BaseModel):
    code: str = Field(
        description="A stable code for programs: one of contract/error-codes.json, or the controller's own."
    )
    message: str = Field(description="An explanation for people.")
    next_step: str = Field(description="What a person should do next.")
    retryable: bool = Field(description="Whether a retry may succeed.")


class OperationStep(BaseModel):
    name: str = Field(description="The controller's name for the step.")
    status: str = Field(description="running, succeeded, failed or skipped.")
    message: str | None = Field(default=None, description="An explanation for people.")
    member_id: str | None = Field(default=None, description="The member that the step worked on, if it was one.")
    started_at: datetime
    finished_at: datetime | None = None


class OperationProgress(BaseModel):
    percent: int | None = Field(default=None, description="0 to 100; null when the controller does not know.")
    message: str | None = Field(default=None, description="What the controller is doing, for people.")


class OperationForced(BaseModel):
    """The person who took responsibility. What was not verified then stays not verified."""

    by: str = Field(description="Id of the person.")
    at: datetime
    reason: str
    verified: bool = Field(description="False: the hosts were not proven clean.")


class Operation(BaseModel):
    id: str
    project_id: str
    instance_id: str
    app_slug: str
    kind: OperationKind
    target: Literal["instance", "member", "bulk"] = Field(
        description="Whether the operation works on the whole instance or on one member, or groups many member operations"
        " (bulk)."
    )
    member_id: str | None = Field(description="For a member operation: the member.")
    new_member_id: str | None = Field(description="For `replace`: the new member.")
    parent_id: str | None = Field(description="The bulk operation that this one belongs to.")
    on_failure: Literal["continue", "stop"] | None = Field(
        description="For a bulk operation: whether the others continue after a failure."
    )
    status: OperationStatus
    status_since: datetime = Field(description="When the operation entered its status.")
    phase: str | None = Field(
        description="`verifying`: the controller is done, and the hosts are being inspected. `probing`: the controller is"
        " done, and the hosts run the readiness probes."
    )
    parameters: dict[str, object] = Field(description="Parameters of the request, such as a version.")
    steps: list[OperationStep] = Field(description="Steps that the controller reported, in order.")
    progress: OperationProgress | None = Field(description="Progress that the controller reported last; null before.")
    failure: OperationFailure | None = Field(
        description="Why the operation failed, was cancelled or expired; otherwise null."
    )
    forced: OperationForced | None = Field(description="Who ended the operation by force; otherwise null.")
    children: dict[str, int] | None = Field(
        description="For a bulk operation: number of member operations in each status."
    )
    reason: str | None = Field(description="Reason that was given with the request.")
    requested_by: str = Field(description="Id of the user or service account, or of the platform.")
    requested_by_name: str = Field(description="Name of the requester at that time.")
    correlation_id: CorrelationId
    attempt: int = Field(description="Number of times that the operation was claimed.")
    controller_id: str | None = Field(description="The service account that claimed the operation last.")
    replica: str | None = Field(description="The replica of the controller that claimed the operation last.")
    cancel_requested_at: datetime | None = Field(
        description="When the controller was asked to stop; null if it was not."
    )
    created_at: datetime
    claimed_at: datetime | None = Field(description="When the operation was last claimed.")
    finished_at: datetime | None
    deadline_at: datetime = Field(description="When the operation expires if it has not ended.")
    generation: Generation
    allowed_actions: AllowedActions


class OperationCancel(Body):
    reason: Reason | None = Field(default=None, description="Why the operation is cancelled.")


class OperationForce(Body):
    """End an operation by force. Its hosts are recorded as not verified permanently."""

    reason: Reason


# What controllers send and get


class WorkItem(BaseModel):
    """An operation that waits for a controller. Claim it before you begin."""

    id: str
    tenant_id: str = Field(description="Tenant of the operation: your own, or one that consents to this controller.")
    project_id: str = Field(description="Project of the operation; use it in the path of further calls.")
    instance_id: str
    app_slug: str
    kind: OperationKind
    target: Literal["instance", "member", "bulk"] = Field(
        description="Whether the operation works on the whole instance or on one member."
    )
    member_id: str | None = Field(description="For a member operation: the member.")
    attempt: int = Field(description="Number of times that the operation was claimed before.")
    created_at: datetime
    deadline_at: datetime = Field(description="When the operation expires if it has not ended.")


class WorkList(BaseModel):
    items: list[WorkItem]


class OperationClaim(Body):
    model_config = examples({"replica": "echo-controller-1"})

    replica: Replica = Field(
        description="Name of this replica of the controller. A replica that returns under its name resumes its own work."
    )


class StepReport(Body):
    """A step, identified by its name. Another report of the same name updates it; the platform records the times."""

    name: StepName = Field(description="A name of your choice. The same name is the same step.")
    status: StepStatus
    message: Line | None = Field(default=None, description="An explanation for people.")
    member_id: MemberId | None = Field(default=None, description="The member that the step works on, if it is one.")


class ProgressReport(Body):
    percent: int | None = Field(default=None, ge=0, le=100, description="0 to 100.")
    message: Line | None = Field(default=None, description="What you are doing, for people.")


EXAMPLE_LEASE = "lease_" + "x" * 43  # in examples


class Leased(Body):
    lease_token: LeaseToken = Field(
        description="The lease token of the claim. It is refused once the lease has lapsed."
    )


class LeaseReport(Leased):
    """The report renews a lease: it has the steps and the progress of the work."""

    steps: Annotated[list[StepReport], Field(max_length=100)] = Field(
        default=[], description="Steps that began or changed since the last report."
    )
    progress: ProgressReport | None = Field(default=None, description="Absent: the progress stays as it was.")


class LeaseRenewed(BaseModel):
    operation_id: str
    status: OperationStatus
    lease_until: datetime = Field(description="When the lease lapses. Report again before then.")
    cancel_requested: bool = Field(
        description="Whether cancellation was requested. Stop at the next safe point and fail the operation."
    )


class OperationGiveBack(Leased):
    pass
