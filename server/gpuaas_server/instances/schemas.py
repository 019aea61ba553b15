"""Wire types of app instances and members."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.instances.controller_schemas import ACCESS, MODE, RUNTIME, Code, Mode
from gpuaas_server.instances.documents import Document
from gpuaas_server.instances.rows import ReasonDocument
from gpuaas_server.kernel.http.schemas import (
    AllowedActions,
    Body,
    CorrelationId,
    Generation,
    HealthStatus,
    Reason,
    Slug,
    examples,
)
from gpuaas_server.kernel.ids import AllocationId, MemberId, ProjectId
from gpuaas_server.operations.schemas import Line, Operation, OperationFailure
from gpuaas_server.operations.service import MemberKind

InstanceStatus = Literal["created", "starting", "running", "stopping", "stopped", "failed"]
MemberStatus = Literal[
    "pending", "joining", "ready", "degraded", "draining", "drained", "removing", "removed", "failed"
]
InstanceName = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
ComponentKey = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,62}$")]
VersionText = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]{0,99}$")]
DeadlineSeconds = Annotated[int, Field(ge=30, le=86_400, description="When it counts as failed. Absent: an hour.")]


OPTIONS = "What the app's `options` schema for this kind of operation takes."


class Placement(Body):
    component_key: ComponentKey = Field(description="A component of the app's manifest.")
    allocation_id: AllocationId = Field(
        description="An active allocation of the same project, or of one that the instance serves and that you may use."
    )


class PlacementRefusal(BaseModel):
    code: str = Field(description="Stable, for programs.")
    message: str = Field(description="For a person.")
    component_key: str | None = Field(description="The component that it is about, where it is about one.")
    allocation_id: str | None = Field(description="The allocation that it is about, where it is about one.")


class CandidateComponent(BaseModel):
    component_key: str
    refusals: list[PlacementRefusal] = Field(
        description="Why it cannot live there beside what was chosen; empty: it can."
    )


class PlacementCandidate(BaseModel):
    """An allocation of the project, and which components could live on it."""

    id: str = Field(description="Of the allocation.")
    name: str | None
    state: str
    shape: str
    gpu_model: str
    gpu_count: int
    node_id: str
    components: list[CandidateComponent]


class PlacementCandidates(BaseModel):
    items: list[PlacementCandidate]
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last one.")
    refusals: list[PlacementRefusal] = Field(description="Against all that was chosen, taken together; empty: it fits.")


class InstanceCreate(Body):
    model_config = examples(
        {
            "app": "echo",
            "version": "0.1.0",
            "name": "my-echo",
            "placement_intent": [
                {"component_key": "hub", "allocation_id": "alc_01jd2m8k4t7w9x3c5v6b1n2q0a"},
                {"component_key": "relay", "allocation_id": "alc_01jd2m8k4t7w9x3c5v6b1n2q0b"},
            ],
            "inputs": {"greeting": "good morning"},
        }
    )

    app: Slug = Field(description="The app's slug, from the catalog.")
    version: VersionText | None = Field(default=None, description="Absent: the newest that may be launched.")
    name: InstanceName = Field(description="Unique among the project's instances that are not decommissioned.")
    placement_intent: Annotated[list[Placement], Field(min_length=1, max_length=1000)] = Field(
        description="Which component runs on which allocation of this project."
    )
    served_projects: Annotated[list[ProjectId], Field(max_length=64)] = Field(
        default=[],
        description="Further projects of the tenant that it serves, and whose allocations it may live on; for apps whose"
        " manifest has `tenant_scope`. You need to administer all of them.",
    )
    inputs: Document = Field(default={}, description="What the app's `inputs` schema asks for.")
    deadline_seconds: DeadlineSeconds | None = None


class HealthReason(BaseModel):
    code: str = Field(description="Stable, for programs: the platform's, or the controller's own.")
    message: str = Field(description="For a person.")
    member_id: str | None = Field(default=None, description="The member that it is about; null: the instance.")
    component_key: str | None = Field(default=None, description="The component that it is about.")
    next_step: str | None = Field(default=None, description="What a person can do about it.")


class InstanceVersion(BaseModel):
    version: str = Field(description="The app's version.")
    runtime_version: str | None = Field(default=None, description="The runtime's own version, which is not the app's.")
    digest: str | None = Field(default=None, description="Of the artifact.")


class PlacementIntent(BaseModel):
    component_key: str = Field(description="A component of the app's manifest.")
    allocation_id: str


class InstanceProject(BaseModel):
    project_id: str
    slug: str = Field(description="Of the project; it never changes.")
    home: bool = Field(description="The instance's own project.")


class InstanceSummary(BaseModel):
    id: str
    project_id: str = Field(description="Its own project; another than the one asked in, where it serves that one.")
    name: str
    app_id: str
    app_slug: str
    version: str
    runtime_version: str | None = Field(description="The runtime's own version, which is not the app's.")
    digest: str | None = Field(description="Of the artifact that it runs.")
    status: InstanceStatus
    status_since: datetime
    health: HealthStatus = Field(
        description="From the controller's reports, the members and the operations; `unknown` when nobody reports."
    )
    health_since: datetime
    health_reasons: list[HealthReason] = Field(description="Why it is not healthy; empty when it is.")
    failure: OperationFailure | None = Field(
        description="What went wrong last with the whole instance; null on its way, and once an operation succeeds."
    )
    member_counts: dict[str, int] = Field(description="How many members are in which status.")
    operation_id: str | None = Field(description="The live operation on the whole instance.")
    last_operation_id: str | None = Field(description="The newest operation on the whole instance, live or ended.")
    created_by: str = Field(description="Id of the user or service account.")
    correlation_id: CorrelationId
    created_at: datetime
    deployed_at: datetime | None = Field(description="Since when its first deploy has succeeded; null until then.")
    decommissioned_at: datetime | None = Field(description="Since when it is gone; it stays readable.")
    generation: Generation
    allowed_actions: AllowedActions


class Instance(InstanceSummary):
    inputs: dict[str, object] = Field(description="As they were given, by the manifest's `inputs` schema.")
    placement_intent: list[PlacementIntent] = Field(
        description="Which component runs on which allocation; it follows the members that are added and removed."
    )
    projects: list[InstanceProject] = Field(description="The projects that it serves, its own first.")
    runtime: dict[str, object] | None = Field(
        description="Versions, endpoints and detail, as the controller reported them last; null before."
    )
    access_bundle: dict[str, object] | None = Field(
        description="Commands, paths and endpoints for people, as the controller reported them last. Never a secret."
    )
    mode: Mode | None = Field(
        description="The form that it has, as its app names it, and what is not taken in it; null: the app names none."
    )
    previous_version: InstanceVersion | None = Field(description="What `rollback` goes back to.")
    attempted_version: InstanceVersion | None = Field(description="An upgrade or rollback that did not succeed.")
    flags: list[HealthReason] = Field(description="Warnings of the platform, such as a revoked artifact.")
    health_reported_at: datetime | None = Field(
        description="When the controller last reported. Health becomes unknown when it stays silent."
    )


class InstanceStarted(BaseModel):
    """The instance, and the operation to follow."""

    instance: Instance
    operation: Operation


class ServedProject(InstanceProject):
    since: datetime
    added_by: str = Field(description="Id of the user or service account.")


class ServedProjects(BaseModel):
    instance_id: str
    items: list[ServedProject] = Field(description="Its own first, then in the order in which they came; at most 65.")


class InstanceServes(BaseModel):
    """The instance, and the operation that brings it in line; null where it does not run, or nothing has changed."""

    instance: Instance
    operation: Operation | None


class InstanceVerb(Body):
    reason: Reason | None = None
    deadline_seconds: DeadlineSeconds | None = None
    options: Document = Field(default={}, description=OPTIONS)


class InstanceUpgrade(InstanceVerb):
    model_config = examples({"version": "0.2.0", "reason": "the relays leak memory before it"})

    version: VersionText = Field(description="A version of the same app that may be launched.")


class MemberHealthReason(BaseModel):
    code: str = Field(description="`host_lost` or `reported_broken`.")
    message: str = Field(description="For a person.")
    next_step: str
    since: datetime


class InstanceMember(BaseModel):
    id: str
    instance_id: str
    component_key: str = Field(description="The app's own name for what it does.")
    ordinal: int = Field(description="Its number in the instance, never given twice.")
    allocation_id: str
    allocation_project_id: str = Field(
        description="Whose allocation it is: the instance's own project, or a served one."
    )
    node_id: str
    status: MemberStatus
    status_since: datetime
    failure: OperationFailure | None = Field(description="Why it is degraded or failed; else null.")
    health: HealthStatus | None = Field(
        description="From its status and from what the platform knows of its host; null when it is gone."
    )
    health_reasons: list[MemberHealthReason] = Field(
        description="What the platform knows against its host: lost, or reported as broken. Empty: nothing."
    )
    adapter_detail: dict[str, object] | None = Field(
        description="What the controller left for debugging: opaque, at most 16 KiB."
    )
    operation_id: str | None = Field(description="The live operation that works on it.")
    last_operation_id: str | None = Field(description="The newest operation that worked on it, live or ended.")
    correlation_id: CorrelationId
    verified: bool | None = Field(description="Whether its last teardown was proven; null when there was none.")
    created_at: datetime
    ready_at: datetime | None = Field(description="When it first was ready; null until then.")
    removed_at: datetime | None = Field(description="Since when it is gone; it stays readable.")
    generation: Generation
    allowed_actions: list[str] = Field(description="Kinds of member operations that you may ask for now.")


class ReplaceTarget(Body):
    member_id: MemberId = Field(description="The member that leaves.")
    allocation_id: AllocationId = Field(description="Where its successor runs.")


class MemberOperationCreate(Body):
    """One envelope for all member operations, on one target or on many.

    `add` takes `component_key` and `allocation_ids`; `replace` takes `replacements`; the others take `targets`.
    """

    model_config = examples(
        {"kind": "add", "component_key": "relay", "allocation_ids": ["alc_01jd2m8k4t7w9x3c5v6b1n2q0c"]},
        {"kind": "drain", "targets": ["mem_01jd2m8k4t7w9x3c5v6b1n2q0d"], "reason": "new firmware"},
        {
            "kind": "replace",
            "replacements": [
                {"member_id": "mem_01jd2m8k4t7w9x3c5v6b1n2q0d", "allocation_id": "alc_01jd2m8k4t7w9x3c5v6b1n2q0e"}
            ],
        },
    )
    kind: MemberKind
    component_key: ComponentKey | None = Field(default=None, description="Of `add`: what the new members are.")
    allocation_ids: Annotated[list[AllocationId], Field(max_length=256)] | None = Field(
        default=None, description="Of `add`: one new member on each."
    )
    targets: Annotated[list[MemberId], Field(max_length=256)] | None = Field(
        default=None, description="Of `drain`, `remove` and `recover`: the members."
    )
    replacements: Annotated[list[ReplaceTarget], Field(max_length=256)] | None = Field(
        default=None, description="Of `replace`: who leaves, and where the successor runs."
    )
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
    actor: str = Field(description="Id of who caused it: a person, a service account or the platform.")
    correlation_id: CorrelationId
    data: dict[str, object] = Field(description="What belongs to this type of event; never a secret.")


class InstanceTimeline(BaseModel):
    instance_id: str
    items: list[TimelineEvent]
    next_cursor: str | None = Field(description="Send as `after`, with `wait`, to go on.")


class MemberHealth(Body):
    member_id: MemberId
    status: Literal["ready", "degraded", "failed"]
    message: Line | None = Field(default=None, description="Why it is degraded or failed.")
    adapter_detail: Document | None = Field(default=None, description="Opaque, for debugging; at most 16 KiB.")


class ReasonReport(Body):
    code: Code = Field(description="Yours to choose, and to keep stable.")
    message: Line = Field(description="For a person.")
    member_id: MemberId | None = Field(default=None, description="When it is about one member.")

    def document(self) -> ReasonDocument:
        reason: ReasonDocument = {"code": self.code, "message": self.message}
        if self.member_id is not None:
            reason["member_id"] = self.member_id
        return reason


class HealthReport(Body):
    """What a controller sees on its own schedule. `generation` is the instance's when it looked."""

    model_config = examples(
        {
            "status": "degraded",
            "generation": 7,
            "reasons": [
                {
                    "code": "relay_silent",
                    "message": "Relay 2 does not answer.",
                    "member_id": "mem_01jd2m8k4t7w9x3c5v6b1n2q0d",
                }
            ],
            "members": [
                {"member_id": "mem_01jd2m8k4t7w9x3c5v6b1n2q0d", "status": "degraded", "message": "No answer for 30 s."}
            ],
        }
    )
    status: HealthStatus = Field(description="How the app as a whole is doing, as you see it.")
    generation: Annotated[int, Field(ge=1, le=2**53)] = Field(
        description="Of the instance when you looked; another one is refused as stale_generation."
    )
    reasons: Annotated[list[ReasonReport], Field(max_length=20)] = Field(
        default=[], description="Why it is not healthy."
    )
    members: Annotated[list[MemberHealth], Field(max_length=1000)] = Field(
        default=[], description="Only those that you have looked at."
    )
    runtime: Document | None = Field(default=None, description=RUNTIME)
    access_bundle: Document | None = Field(default=None, description=ACCESS)
    mode: Mode | None = Field(default=None, description=MODE)


class HealthAccepted(BaseModel):
    instance_id: str
    status: InstanceStatus
    health: HealthStatus = Field(description="What the platform makes of it: members and operations count too.")
    health_reasons: list[HealthReason] = Field(description="Why it is not healthy; empty when it is.")
    generation: Generation
