"""Wire types of operations, as people read them and as controllers report on them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Reason
from gpuaas_server.kernel.ids import MemberId
from gpuaas_server.operations.documents import Document

OperationKind = Literal[
    "deploy",
    "start",
    "stop",
    "restart",
    "upgrade",
    "rollback",
    "reconcile",
    "repair",
    "decommission",
    "add",
    "drain",
    "remove",
    "replace",
    "recover",
]
OperationStatus = Literal["pending", "claimed", "running", "succeeded", "failed", "cancelled", "expired"]
StepStatus = Literal["running", "succeeded", "failed", "skipped"]
ReportedMemberStatus = Literal["ready", "degraded", "drained", "failed"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]
Code = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{1,62}$")]
StepName = Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9_./:-]{0,99}$")]
LeaseToken = Annotated[str, StringConstraints(pattern="^lease_[A-Za-z0-9_-]{43}$")]
Replica = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$")]


class OperationFailure(BaseModel):
    code: str
    message: str
    next_step: str
    retryable: bool


class OperationStep(BaseModel):
    name: str
    status: str
    message: str | None = None
    member_id: str | None = None
    started_at: datetime
    finished_at: datetime | None = None


class OperationProgress(BaseModel):
    percent: int | None = None
    message: str | None = None


class OperationForced(BaseModel):
    """Somebody took responsibility; what was not verified then stays not verified."""

    by: str
    at: datetime
    reason: str
    verified: bool


class Operation(BaseModel):
    id: str
    project_id: str
    instance_id: str
    app_slug: str
    kind: OperationKind
    target: Literal["instance", "member", "bulk"]
    member_id: str | None
    new_member_id: str | None = Field(description="Of `replace`: the member that takes the place.")
    parent_id: str | None = Field(description="The bulk operation that it belongs to.")
    on_failure: Literal["continue", "stop"] | None
    status: OperationStatus
    status_since: datetime
    phase: str | None = Field(description="`verifying`: the controller is done, the hosts are being looked at.")
    parameters: dict[str, object] = Field(description="What was asked for beyond the kind, such as a version.")
    steps: list[OperationStep]
    progress: OperationProgress | None
    failure: OperationFailure | None
    forced: OperationForced | None
    children: dict[str, int] | None = Field(description="Of a bulk operation: how many are in which status.")
    reason: str | None
    requested_by: str
    requested_by_name: str
    correlation_id: str
    attempt: int = Field(description="How often it was claimed.")
    controller_id: str | None
    replica: str | None
    cancel_requested_at: datetime | None
    created_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    deadline_at: datetime
    generation: int
    allowed_actions: list[str]


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
    target: Literal["instance", "member", "bulk"]
    member_id: str | None
    attempt: int
    created_at: datetime
    deadline_at: datetime


class WorkList(BaseModel):
    items: list[WorkItem]


class OperationClaim(Body):
    replica: Replica = Field(
        description="The name of this replica of the controller. One that comes back under its name resumes its own work."
    )


class ControllerAllocation(BaseModel):
    """What a controller may know of the machine below a member. The way in is asked for with machine-access."""

    id: str
    name: str | None
    state: str
    shape: str
    gpu_model: str
    gpu_count: int
    node_id: str


class ControllerMember(BaseModel):
    id: str
    component_key: str
    ordinal: int
    status: str
    allocation: ControllerAllocation | None
    adapter_detail: dict[str, object] | None
    host_gone: bool = Field(description="Its allocation has ended: there is no machine to work on.")
    concerned: bool = Field(description="Whether the operation works on it.")


class ControllerVersion(BaseModel):
    version: str
    runtime_version: str | None
    digest: str | None
    manifest: dict[str, object]


class ControllerInstance(BaseModel):
    id: str
    name: str
    app_slug: str
    status: str
    generation: int
    version: ControllerVersion
    inputs: dict[str, object]
    placement_intent: list[dict[str, str]]
    runtime: dict[str, object] | None
    access_bundle: dict[str, object] | None


class ClaimedOperation(BaseModel):
    """The lease, and the whole context: nothing else has to be asked for before the work begins."""

    operation: Operation
    lease_token: str = Field(description="Proves that the work is yours; send it with every report.")
    lease_until: datetime
    instance: ControllerInstance
    target_version: ControllerVersion | None = Field(description="Of upgrade and rollback.")
    members: list[ControllerMember]


class StepReport(Body):
    """A step by its name. Sending it again changes it; the platform keeps the times."""

    name: StepName
    status: StepStatus
    message: Line | None = None
    member_id: MemberId | None = None


class ProgressReport(Body):
    percent: int | None = Field(default=None, ge=0, le=100)
    message: Line | None = None


class MemberReport(Body):
    member_id: MemberId
    status: ReportedMemberStatus | None = None
    message: Line | None = Field(default=None, description="Why it is degraded or failed.")
    adapter_detail: Document | None = Field(default=None, description="Opaque, for debugging; at most 16 KiB.")


Members = Annotated[list[MemberReport], Field(max_length=1000)]
RUNTIME = "Versions, endpoints, detail of the running app; at most 64 KiB."
ACCESS = "Exact commands, paths, endpoints and health examples for people; at most 64 KiB. Never a secret."


class Leased(Body):
    lease_token: LeaseToken


class OperationReport(Leased):
    steps: Annotated[list[StepReport], Field(max_length=100)] = []
    progress: ProgressReport | None = None


class LeaseRenewed(BaseModel):
    operation_id: str
    status: OperationStatus
    lease_until: datetime
    cancel_requested: bool = Field(description="Somebody wants it to end: stop at the next safe place, and fail it.")


class OperationComplete(Leased):
    steps: Annotated[list[StepReport], Field(max_length=100)] = []
    members: Members = []
    runtime: Document | None = Field(default=None, description=RUNTIME)
    access_bundle: Document | None = Field(default=None, description=ACCESS)


class FailureReport(Body):
    code: Code
    message: Line
    next_step: Line | None = None
    retryable: bool = False


class OperationFail(Leased):
    failure: FailureReport
    steps: Annotated[list[StepReport], Field(max_length=100)] = []
    members: Members = []


class OperationGiveBack(Leased):
    pass
