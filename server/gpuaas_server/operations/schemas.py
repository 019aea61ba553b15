"""Wire types of operations, as people read them and as controllers report on them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, CorrelationId, Generation, Reason, examples
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
# What a controller may close. The way out is none of it: repair and decommission stay open, whatever an app says.
ClosableKind = Literal[
    "start", "stop", "restart", "upgrade", "rollback", "reconcile", "add", "drain", "remove", "replace", "recover"
]
OperationStatus = Literal["pending", "claimed", "running", "succeeded", "failed", "cancelled", "expired"]
StepStatus = Literal["running", "succeeded", "failed", "skipped"]
ReportedMemberStatus = Literal["ready", "degraded", "drained", "failed"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]
Code = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{1,62}$")]
StepName = Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9_./:-]{0,99}$")]
LeaseToken = Annotated[str, StringConstraints(pattern="^lease_[A-Za-z0-9_-]{43}$")]
ModeName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,39}$")]
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


class ControllerAllocation(BaseModel):
    """What a controller may know of the machine below a member. The way in is asked for with machine-access."""

    id: str
    name: str | None
    state: str
    shape: str = Field(description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host.")
    gpu_model: str
    gpu_count: int
    node_id: str
    project_id: str = Field(description="Whose it is: one of the instance's `projects`.")


class ControllerProject(BaseModel):
    """A project that the instance serves: all that its controller may know of it."""

    project_id: str
    slug: str = Field(description="It never changes.")
    home: bool = Field(description="The instance's own project.")


class ControllerMember(BaseModel):
    id: str
    component_key: str = Field(description="The component of your manifest.")
    ordinal: int = Field(description="Its number in the instance, never given twice.")
    status: str
    allocation: ControllerAllocation | None = Field(
        description="The machine below it; null when it can not be seen any more."
    )
    adapter_detail: dict[str, object] | None = Field(description="What you reported last.")
    host_gone: bool = Field(description="Its allocation has ended: there is no machine to work on.")
    concerned: bool = Field(description="Whether the operation works on it.")


class ControllerVersion(BaseModel):
    version: str
    runtime_version: str | None = Field(description="The runtime's own version, which is not the app's.")
    digest: str | None = Field(description="Of the artifact.")
    manifest: dict[str, object] = Field(description="As it was registered.")


class ControllerInstance(BaseModel):
    id: str
    name: str
    app_slug: str
    status: str
    generation: Generation
    version: ControllerVersion = Field(
        description="What it runs, or should run; of upgrade and rollback, where it comes from."
    )
    projects: list[ControllerProject] = Field(description="The projects that it serves, its own first.")
    inputs: dict[str, object] = Field(description="By the manifest's `inputs` schema.")
    placement_intent: list[dict[str, str]] = Field(description="Pairs of component_key and allocation_id.")
    runtime: dict[str, object] | None = Field(description="What you reported last.")
    access_bundle: dict[str, object] | None = Field(description="What you reported last.")


class ClaimedOperation(BaseModel):
    """The lease, and the whole context: nothing else has to be asked for before the work begins."""

    operation: Operation
    lease_token: str = Field(description="Proves that the work is yours; send it with every report.")
    lease_until: datetime = Field(description="Report before then, or another replica gets it.")
    instance: ControllerInstance
    target_version: ControllerVersion | None = Field(description="Of upgrade and rollback.")
    members: list[ControllerMember] = Field(
        description="All members, not only those that it works on: see `concerned`."
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


class MemberReport(Body):
    member_id: MemberId
    status: ReportedMemberStatus | None = Field(
        default=None, description="Absent: as it was. `removed` is for the platform to say."
    )
    message: Line | None = Field(default=None, description="Why it is degraded or failed.")
    adapter_detail: Document | None = Field(default=None, description="Opaque, for debugging; at most 16 KiB.")


Members = Annotated[list[MemberReport], Field(max_length=1000)]
RUNTIME = "Versions, endpoints, detail of the running app; at most 64 KiB."
ACCESS = "Exact commands, paths, endpoints and health examples for people; at most 64 KiB. Never a secret."


MODE = "The form that the instance has now, as you name it, and what you do not take in it. Absent: as it was."


class ClosedKind(Body):
    """What would come to nothing: whoever asks for it is refused at once, with these words."""

    kind: ClosableKind
    component_key: Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,62}$")] | None = Field(
        default=None, description="Only of members of this component; absent: of all."
    )
    message: Line = Field(description="For a person: why it is not taken.")
    next_step: Line = Field(description="What the person should ask for instead.")


class Mode(Body):
    """A form of the app, such as on one machine or on many, in the app's own words."""

    name: ModeName = Field(description="The app's name for the form.")
    meaning: Line = Field(description="For a person: what this form is.")
    closed: Annotated[list[ClosedKind], Field(max_length=64)] = Field(
        default=[], description="What the app does not take in this form."
    )


_LEASE = "lease_" + "x" * 43  # in examples


class Leased(Body):
    lease_token: LeaseToken = Field(description="From the claim; refused once the lease has lapsed.")


class OperationReport(Leased):
    model_config = examples(
        {
            "lease_token": _LEASE,
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


class OperationComplete(Leased):
    model_config = examples(
        {
            "lease_token": _LEASE,
            "steps": [{"name": "hub/start", "status": "succeeded"}],
            "runtime": {"versions": {"echod": "1"}, "endpoints": [{"name": "talk", "address": "10.0.0.7:7007"}]},
            "access_bundle": {"commands": {"talk": "nc 10.0.0.7 7007"}},
        }
    )

    steps: Annotated[list[StepReport], Field(max_length=100)] = Field(
        default=[], description="Those that began or changed since the last report."
    )
    members: Members = Field(
        default=[], description="Those that are not what success makes of them, or have news in `adapter_detail`."
    )
    runtime: Document | None = Field(default=None, description=RUNTIME)
    access_bundle: Document | None = Field(default=None, description=ACCESS)
    mode: Mode | None = Field(default=None, description=MODE)


class FailureReport(Body):
    code: Code = Field(description="Yours to choose, and to keep stable.")
    message: Line = Field(description="For a person: what did not work.")
    next_step: Line | None = Field(default=None, description="What the person should do. Absent: to read the steps.")
    retryable: bool = Field(default=False, description="Whether asking for the same again may succeed.")


class OperationFail(Leased):
    model_config = examples(
        {
            "lease_token": _LEASE,
            "failure": {
                "code": "port_taken",
                "message": "Port 7007 is taken by another program.",
                "next_step": "Stop what listens there, then ask for the deploy again.",
                "retryable": True,
            },
            "steps": [{"name": "hub/start", "status": "failed", "message": "Address already in use."}],
        }
    )

    failure: FailureReport
    steps: Annotated[list[StepReport], Field(max_length=100)] = Field(
        default=[], description="Those that began or changed since the last report."
    )
    members: Members = Field(
        default=[], description="What is known of them. The platform judges the others: none stays in between."
    )


class OperationGiveBack(Leased):
    pass
