"""Wire types of app instances and members."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Reason, Slug
from gpuaas_server.kernel.ids import AllocationId, MemberId
from gpuaas_server.operations.documents import Document
from gpuaas_server.operations.schemas import Code, Line, Operation, OperationFailure

InstanceStatus = Literal["created", "starting", "running", "stopping", "stopped", "failed"]
HealthStatus = Literal["unknown", "progressing", "healthy", "degraded", "unhealthy"]
MemberStatus = Literal[
    "pending", "joining", "ready", "degraded", "draining", "drained", "removing", "removed", "failed"
]
InstanceName = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
ComponentKey = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,62}$")]
VersionText = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]{0,99}$")]
DeadlineSeconds = Annotated[int, Field(ge=30, le=86_400, description="When it counts as failed. Absent: an hour.")]


OPTIONS = "What the app's `options` schema for this kind of operation takes."


class Placement(Body):
    component_key: ComponentKey
    allocation_id: AllocationId


class InstanceCreate(Body):
    app: Slug = Field(description="The app's slug, from the catalog.")
    version: VersionText | None = Field(default=None, description="Absent: the newest that may be launched.")
    name: InstanceName
    placement_intent: Annotated[list[Placement], Field(min_length=1, max_length=1000)] = Field(
        description="Which component runs on which allocation of this project."
    )
    inputs: Document = Field(default={}, description="What the app's `inputs` schema asks for.")
    deadline_seconds: DeadlineSeconds | None = None


class HealthReason(BaseModel):
    code: str
    message: str
    member_id: str | None = None
    component_key: str | None = None


class InstanceVersion(BaseModel):
    version: str
    runtime_version: str | None = None
    digest: str | None = None


class PlacementIntent(BaseModel):
    component_key: str
    allocation_id: str


class InstanceSummary(BaseModel):
    id: str
    project_id: str
    name: str
    app_id: str
    app_slug: str
    version: str
    runtime_version: str | None = Field(description="The runtime's own version, which is not the app's.")
    digest: str | None
    status: InstanceStatus
    status_since: datetime
    health: HealthStatus
    health_since: datetime
    health_reasons: list[HealthReason]
    failure: OperationFailure | None
    member_counts: dict[str, int]
    operation_id: str | None = Field(description="The live operation on the whole instance.")
    last_operation_id: str | None
    created_by: str
    correlation_id: str
    created_at: datetime
    deployed_at: datetime | None
    decommissioned_at: datetime | None
    generation: int
    allowed_actions: list[str]


class Instance(InstanceSummary):
    inputs: dict[str, object]
    placement_intent: list[PlacementIntent]
    runtime: dict[str, object] | None
    access_bundle: dict[str, object] | None
    previous_version: InstanceVersion | None = Field(description="What `rollback` goes back to.")
    attempted_version: InstanceVersion | None = Field(description="An upgrade or rollback that did not succeed.")
    flags: list[HealthReason] = Field(description="Warnings of the platform, such as a revoked artifact.")
    health_reported_at: datetime | None


class InstanceStarted(BaseModel):
    """The instance, and the operation to follow."""

    instance: Instance
    operation: Operation


class InstanceVerb(Body):
    reason: Reason | None = None
    deadline_seconds: DeadlineSeconds | None = None
    options: Document = Field(default={}, description=OPTIONS)


class InstanceUpgrade(InstanceVerb):
    version: VersionText


class InstanceMember(BaseModel):
    id: str
    instance_id: str
    component_key: str
    ordinal: int
    allocation_id: str
    node_id: str
    status: MemberStatus
    status_since: datetime
    failure: OperationFailure | None
    adapter_detail: dict[str, object] | None
    operation_id: str | None = Field(description="The live operation that works on it.")
    last_operation_id: str | None
    correlation_id: str
    verified: bool | None = Field(description="Whether its last teardown was proven; null when there was none.")
    created_at: datetime
    ready_at: datetime | None
    removed_at: datetime | None
    generation: int
    allowed_actions: list[str]


class ReplaceTarget(Body):
    member_id: MemberId
    allocation_id: AllocationId


class MemberOperationCreate(Body):
    """One envelope for all member operations, on one target or on many.

    `add` takes `component_key` and `allocation_ids`; `replace` takes `replacements`; the others take `targets`.
    """

    kind: Literal["add", "drain", "remove", "replace", "recover"]
    component_key: ComponentKey | None = None
    allocation_ids: Annotated[list[AllocationId], Field(max_length=256)] | None = None
    targets: Annotated[list[MemberId], Field(max_length=256)] | None = None
    replacements: Annotated[list[ReplaceTarget], Field(max_length=256)] | None = None
    on_failure: Literal["continue", "stop"] = Field(
        default="continue",
        description="Of many: go on with the others, or begin one after the other and none after the first failure.",
    )
    options: Document = Field(default={}, description=OPTIONS)
    reason: Reason | None = None
    deadline_seconds: DeadlineSeconds | None = None


class TimelineEvent(BaseModel):
    id: str = Field(description="Its place: send as `after` to go on from here.")
    at: datetime
    type: str = Field(examples=["instance.start_completed", "member.added", "operation.failed"])
    subject: str = Field(description="The id of what it is about.")
    actor: str
    correlation_id: str
    data: dict[str, object]


class InstanceTimeline(BaseModel):
    instance_id: str
    items: list[TimelineEvent]
    next_cursor: str | None = Field(description="Send as `after`, with `wait`, to go on.")


class MemberHealth(Body):
    member_id: MemberId
    status: Literal["ready", "degraded", "failed"]
    message: Line | None = None
    adapter_detail: Document | None = Field(default=None, description="Opaque, for debugging; at most 16 KiB.")


class ReasonReport(Body):
    code: Code
    message: Line
    member_id: MemberId | None = None


class HealthReport(Body):
    """What a controller sees on its own schedule. `generation` is the instance's when it looked."""

    status: HealthStatus
    generation: Annotated[int, Field(ge=1, le=2**53)]
    reasons: Annotated[list[ReasonReport], Field(max_length=20)] = []
    members: Annotated[list[MemberHealth], Field(max_length=1000)] = []
    runtime: Document | None = None
    access_bundle: Document | None = None


class HealthAccepted(BaseModel):
    instance_id: str
    status: InstanceStatus
    health: HealthStatus
    health_reasons: list[HealthReason]
    generation: int
