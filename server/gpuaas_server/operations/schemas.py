"""Wire types of operations, as people read them and as controllers report on them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, CorrelationId, Generation, Reason, examples
from gpuaas_server.kernel.ids import MemberId
from gpuaas_server.kernel.operation_kinds import OperationKind

OperationStatus = Literal["pending", "claimed", "running", "succeeded", "failed", "cancelled", "expired"]
StepStatus = Literal["running", "succeeded", "failed", "skipped"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]
StepName = Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9_./:-]{0,99}$")]
LeaseToken = Annotated[str, StringConstraints(pattern="^lease_[A-Za-z0-9_-]{43}$")]
Replica = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$")]


class OperationFailure(BaseModel):
    code: str = Field(description="Stable, for programs: of contract/error-codes.json, or the controller's own.")
    message: str = Field(description="For a person.")
    next_step: str = Field(description="What a person should do.")
    retryable: bool = Field(description="Whether asking for the same again may succeed.")


class OperationStep(BaseModel):
    name: str = Field(description="The controller's name for it.")
    status: str = Field(description="running, succeeded, failed or skipped.")
    message: str | None = None
    member_id: str | None = Field(default=None, description="The member that it worked on, where it was one.")
    started_at: datetime
    finished_at: datetime | None = None


class OperationProgress(BaseModel):
    percent: int | None = Field(default=None, description="0 to 100; null when the controller can not say.")
    message: str | None = Field(default=None, description="What it is doing, for a person.")


class OperationForced(BaseModel):
    """Somebody took responsibility; what was not verified then stays not verified."""

    by: str = Field(description="Id of the person.")
    at: datetime
    reason: str
    verified: bool = Field(description="False: nobody has proven the hosts clean.")


class Operation(BaseModel):
    id: str
    project_id: str
    instance_id: str
    app_slug: str
    kind: OperationKind
    target: Literal["instance", "member", "bulk"] = Field(
        description="Whether it works on the whole instance, on one member, or stands for many member operations."
    )
    member_id: str | None = Field(description="Of a member operation: whom it works on.")
    new_member_id: str | None = Field(description="Of `replace`: the member that takes the place.")
    parent_id: str | None = Field(description="The bulk operation that it belongs to.")
    on_failure: Literal["continue", "stop"] | None = Field(
        description="Of a bulk operation: whether the others go on after a failure."
    )
    status: OperationStatus
    status_since: datetime
    phase: str | None = Field(description="`verifying`: the controller is done, the hosts are being looked at.")
    parameters: dict[str, object] = Field(description="What was asked for beyond the kind, such as a version.")
    steps: list[OperationStep] = Field(description="What the controller reported, in order.")
    progress: OperationProgress | None = Field(description="What the controller reported last; null before.")
    failure: OperationFailure | None = Field(description="Why it is failed, cancelled or expired; else null.")
    forced: OperationForced | None = Field(description="Who ended it on their word; null otherwise.")
    children: dict[str, int] | None = Field(description="Of a bulk operation: how many are in which status.")
    reason: str | None = Field(description="What the person who asked for it said.")
    requested_by: str = Field(description="Id of the user or service account, or of the platform.")
    requested_by_name: str = Field(description="As it was called then.")
    correlation_id: CorrelationId
    attempt: int = Field(description="How often it was claimed.")
    controller_id: str | None = Field(description="The service account that claimed it last.")
    replica: str | None = Field(description="The replica of the controller that claimed it last.")
    cancel_requested_at: datetime | None = Field(description="Since when its controller is asked to stop.")
    created_at: datetime
    claimed_at: datetime | None = Field(description="When it was claimed last.")
    finished_at: datetime | None
    deadline_at: datetime = Field(description="When it expires if it has not ended.")
    generation: Generation
    allowed_actions: AllowedActions


class OperationCancel(Body):
    reason: Reason | None = None


class OperationForce(Body):
    """End it on a person's word. What would have been verified is recorded as not verified for ever."""

    reason: Reason


# What controllers send and get


class WorkItem(BaseModel):
    """An operation that waits for a controller. Claim it before you begin."""

    id: str
    instance_id: str
    app_slug: str
    kind: OperationKind
    target: Literal["instance", "member", "bulk"] = Field(
        description="Whether it works on the whole instance or on one member."
    )
    member_id: str | None = Field(description="Of a member operation: whom it works on.")
    attempt: int = Field(description="How often it was claimed already.")
    created_at: datetime
    deadline_at: datetime = Field(description="When it expires if it has not ended.")


class WorkList(BaseModel):
    items: list[WorkItem]


class OperationClaim(Body):
    model_config = examples({"replica": "echo-controller-1"})

    replica: Replica = Field(
        description="The name of this replica of the controller. One that comes back under its name resumes its own work."
    )


class StepReport(Body):
    """A step by its name. Sending it again changes it; the platform keeps the times."""

    name: StepName = Field(description="Yours to choose; the same name is the same step.")
    status: StepStatus
    message: Line | None = Field(default=None, description="For a person.")
    member_id: MemberId | None = Field(default=None, description="When it worked on one member.")


class ProgressReport(Body):
    percent: int | None = Field(default=None, ge=0, le=100)
    message: Line | None = Field(default=None, description="What you are doing, for a person.")


EXAMPLE_LEASE = "lease_" + "x" * 43  # in examples


class Leased(Body):
    lease_token: LeaseToken = Field(description="From the claim; refused once the lease has lapsed.")


class OperationReport(Leased):
    model_config = examples(
        {
            "lease_token": EXAMPLE_LEASE,
            "steps": [{"name": "hub/install", "status": "succeeded"}, {"name": "hub/start", "status": "running"}],
            "progress": {"percent": 40, "message": "The hub starts."},
        }
    )

    steps: Annotated[list[StepReport], Field(max_length=100)] = Field(
        default=[], description="Those that began or changed since the last report."
    )
    progress: ProgressReport | None = Field(default=None, description="Absent: as it was.")


class LeaseRenewed(BaseModel):
    operation_id: str
    status: OperationStatus
    lease_until: datetime = Field(description="Report again before then.")
    cancel_requested: bool = Field(description="Somebody wants it to end: stop at the next safe place, and fail it.")


class OperationGiveBack(Leased):
    pass
