"""Wire types of app instances and members."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.instances.controller_schemas import Mode
from gpuaas_server.instances.documents import Document
from gpuaas_server.instances.drift_schemas import POLICY, InstanceDrift, ReconcilePolicy
from gpuaas_server.instances.secret_schemas import SecretName, SecretValue
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
from gpuaas_server.kernel.ids import AllocationId, ProjectId
from gpuaas_server.operations.schemas import Operation, OperationFailure

InstanceStatus = Literal["created", "starting", "running", "stopping", "stopped", "failed"]
MemberStatus = Literal[
    "pending", "joining", "ready", "degraded", "draining", "drained", "removing", "removed", "failed"
]
InstanceName = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
ComponentKey = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,62}$")]
VersionText = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]{0,99}$")]
DeadlineSeconds = Annotated[
    int, Field(ge=30, le=86_400, description="Seconds until the operation counts as failed. Absent: one hour.")
]


OPTIONS = "Options of the operation, as the app's `options` schema for this kind defines them."


class Placement(Body):
    component_key: ComponentKey = Field(description="A component of the app's manifest.")
    allocation_id: AllocationId = Field(
        description="An active allocation of the project, or of a project that the instance serves and that you may use."
    )


class PlacementRefusal(BaseModel):
    code: str = Field(description="A stable code for programs.")
    message: str = Field(description="An explanation for people.")
    component_key: str | None = Field(description="The component that does not fit, if it is one.")
    allocation_id: str | None = Field(description="The allocation that does not fit, if it is one.")


class CandidateComponent(BaseModel):
    component_key: str
    refusals: list[PlacementRefusal] = Field(
        description="Why the component cannot run there beside what was chosen. Empty: it can."
    )


class PlacementCandidate(BaseModel):
    """An allocation of the project, and which components could run on it."""

    id: str = Field(description="Id of the allocation.")
    name: str | None
    state: str
    shape: str
    gpu_model: str
    gpu_count: int
    node_id: str
    components: list[CandidateComponent] = Field(description="Each component of the app, with the reasons against it.")


class PlacementCandidates(BaseModel):
    items: list[PlacementCandidate]
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last page.")
    refusals: list[PlacementRefusal] = Field(
        description="Reasons against everything that was chosen, taken together. Empty: it fits."
    )


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

    app: Slug = Field(description="Slug of the app, from the catalogue.")
    version: VersionText | None = Field(
        default=None, description="Version of the app. Absent: the newest that may be launched."
    )
    name: InstanceName = Field(description="Unique among the project's instances that are not decommissioned.")
    placement_intent: Annotated[list[Placement], Field(min_length=1, max_length=1000)] = Field(
        description="Which component runs on which allocation."
    )
    served_projects: Annotated[list[ProjectId], Field(max_length=64)] = Field(
        default=[],
        description="Further projects of the tenant that the instance serves and whose allocations it may use. Only for apps"
        " whose manifest has `tenant_scope`; you must administer all of them.",
    )
    inputs: Document = Field(default={}, description="Inputs, as the app's `inputs` schema defines them.")
    secrets: Annotated[dict[SecretName, SecretValue], Field(max_length=16)] = Field(
        default={},
        json_schema_extra={"additionalProperties": False},
        description="Values of the secrets that the app's manifest declares as given. They are sealed at once.",
    )
    reconcile_policy: ReconcilePolicy = Field(default="notify", description=POLICY)
    deadline_seconds: DeadlineSeconds | None = None
    when_no_controller: Literal["refuse", "queue"] = Field(
        default="refuse",
        description="What to do if no controller serves the app here: `refuse` with `no_controller`, or `queue` the deploy"
        " operation until a controller claims it or its deadline passes.",
    )


class SmokeLaunch(Body):
    model_config = examples(
        {"placement_intent": [{"component_key": "hub", "allocation_id": "alc_01jd2m8k4t7w9x3c5v6b1n2q0a"}]}
    )

    placement_intent: Annotated[list[Placement], Field(min_length=1, max_length=1000)] = Field(
        description="Which component runs on which allocation of the project."
    )
    inputs: Document = Field(default={}, description="Inputs, as the app's `inputs` schema defines them.")
    deadline_seconds: DeadlineSeconds | None = None


class HealthReason(BaseModel):
    code: str = Field(description="A stable code for programs, of the platform or of the controller.")
    message: str = Field(description="An explanation for people.")
    member_id: str | None = Field(
        default=None, description="The member concerned, the first where there are several; null for the instance."
    )
    member_ids: list[str] = Field(
        default=[], description="The members concerned, where the same is true of several; at most 50 are named."
    )
    component_key: str | None = Field(default=None, description="The component concerned.")
    next_step: str | None = Field(default=None, description="What a person should do next.")


class InstanceVersion(BaseModel):
    version: str = Field(description="Version of the app.")
    runtime_version: str | None = Field(
        default=None, description="Version of the runtime, which differs from the app's."
    )
    digest: str | None = Field(default=None, description="Digest of the artifact.")


class PlacementIntent(BaseModel):
    component_key: str = Field(description="A component of the app's manifest.")
    allocation_id: str


class InstanceProject(BaseModel):
    project_id: str
    slug: str = Field(description="Slug of the project. It never changes.")
    home: bool = Field(description="Whether this is the instance's own project.")


class InstanceSummary(BaseModel):
    id: str
    project_id: str = Field(
        description="The instance's own project. It differs from the project in the path when the instance serves that one."
    )
    name: str
    app_id: str
    app_slug: str
    version: str
    runtime_version: str | None = Field(
        description="Version of the runtime, which differs from the app's: as the running app reports it, or else as the"
        " version declares it."
    )
    digest: str | None = Field(description="Digest of the artifact that the instance runs.")
    status: InstanceStatus
    status_since: datetime = Field(description="When the instance entered its status.")
    health: HealthStatus = Field(
        description="Health, derived from the controller's reports, the members and the operations. `unknown` when the"
        " controller does not report."
    )
    health_since: datetime = Field(description="When the health last changed.")
    health_reasons: list[HealthReason] = Field(description="Why the instance is not healthy; empty when it is.")
    failure: OperationFailure | None = Field(
        description="The last failure of an operation on the whole instance. Null while another one runs, and once one has"
        " succeeded."
    )
    member_counts: dict[str, int] = Field(description="Number of members in each status.")
    bound_capacity_shape: Literal["baremetal", "gpu_slice", "mixed"] | None = Field(
        description="Shape of the allocations that the members are on; `mixed`: of several; null: there is no member."
    )
    operation_id: str | None = Field(description="The live operation on the whole instance.")
    last_operation_id: str | None = Field(description="The newest operation on the whole instance, live or ended.")
    created_by: str = Field(description="Id of the user or service account.")
    reconcile_policy: ReconcilePolicy = Field(description=POLICY)
    correlation_id: CorrelationId
    created_at: datetime
    deployed_at: datetime | None = Field(description="When the first deploy succeeded; null before.")
    decommissioned_at: datetime | None = Field(
        description="When the instance was decommissioned. It can still be read."
    )
    generation: Generation
    allowed_actions: AllowedActions


class Instance(InstanceSummary):
    inputs: dict[str, object] = Field(
        description="Inputs of the instance, as the manifest's `inputs` schema defines them."
    )
    placement_intent: list[PlacementIntent] = Field(
        description="Which component runs on which allocation. It changes with the members."
    )
    projects: list[InstanceProject] = Field(description="Projects that the instance serves, its own first.")
    declared_runtime_version: str | None = Field(
        description="The `runtime_version` of the manifest. While another one runs, the health has the reason"
        " `runtime_version_mismatch`."
    )
    runtime_profile: dict[str, object] | None = Field(
        description="How the version's image runs, as its manifest says; null: a controller of the app's own knows, or each"
        " component has its own."
    )
    component_profiles: dict[str, dict[str, object]] = Field(
        description="The runtime profiles that components have of their own, by the component's key."
    )
    runtime: dict[str, object] | None = Field(
        description="Versions, endpoints and details that the controller reported last; null before. `runtime_version` is"
        " compared with the declared one."
    )
    access_bundle: dict[str, object] | None = Field(
        description="Commands, paths and endpoints for people, as the controller reported them last. Never a secret. Null"
        " before that, and once the instance is decommissioned."
    )
    mode: Mode | None = Field(
        description="Mode of the instance, as its app names it, and the operations that the mode does not allow. Null: the"
        " app names no mode."
    )
    previous_version: InstanceVersion | None = Field(description="The version that `rollback` returns to.")
    attempted_version: InstanceVersion | None = Field(
        description="The version of an upgrade or rollback that did not succeed."
    )
    flags: list[HealthReason] = Field(description="Warnings of the platform, such as a revoked artifact.")
    health_reported_at: datetime | None = Field(
        description="When the controller last reported. Health becomes unknown when reports stop."
    )
    drift: InstanceDrift | None = Field(
        description="Members that are not as they should be, and what the platform does about it; null: there is none, or the"
        " policy is `off`."
    )


class InstanceStarted(BaseModel):
    """The instance, and the operation to follow."""

    instance: Instance
    operation: Operation


class ServedProject(InstanceProject):
    since: datetime = Field(description="Since when the instance serves the project.")
    added_by: str = Field(description="Id of the user or service account.")


class ServedProjects(BaseModel):
    instance_id: str
    items: list[ServedProject] = Field(
        description="The instance's own project first, then the others in the order in which they were added; at most 65."
    )


class ServedProjectChanged(BaseModel):
    """The instance, and the operation that reconciles it: null if the instance does not run or nothing changed."""

    instance: Instance
    operation: Operation | None


class InstanceVerb(Body):
    reason: Reason | None = None
    deadline_seconds: DeadlineSeconds | None = None
    options: Document = Field(default={}, description=OPTIONS)


class InstanceUpgrade(InstanceVerb):
    model_config = examples({"version": "0.2.0", "reason": "the relays leak memory before it"})

    version: VersionText = Field(description="A version of the same app that may be launched.")


class MemberProbe(BaseModel):
    """A probe that the member's host runs, and its result. On a host that a tenant controls, the tenant can forge it."""

    key: str
    kind: Literal["tcp", "http", "unit"]
    purpose: list[Literal["readiness", "liveness"]]
    port: int | None
    path: str | None
    unit: str | None
    status: Literal["pending", "passing", "failing"] = Field(
        description="`pending`: it has not passed yet, and may still take its time."
    )
    since: datetime | None = Field(description="When the status last changed; null before the first report.")
    answer: str = Field(description="What the last run got, such as `HTTP 503` or `connection refused`.")


class MemberHealthReason(BaseModel):
    code: str = Field(description="`host_lost`, `reported_broken` or `probe_failing`.")
    message: str = Field(description="An explanation for people.")
    next_step: str
    since: datetime


class InstanceMember(BaseModel):
    id: str
    instance_id: str
    component_key: str = Field(description="The component of the manifest that the member runs.")
    ordinal: int = Field(description="Number of the member in the instance. A number is never used twice.")
    allocation_id: str
    allocation_project_id: str = Field(
        description="The project of the allocation: the instance's own, or one that it serves."
    )
    node_id: str
    status: MemberStatus
    status_since: datetime
    failure: OperationFailure | None = Field(description="Why the member is degraded or failed; otherwise null.")
    health: HealthStatus | None = Field(
        description="Health, derived from the member's status, the state of its host and its probes. Null when the member was"
        " removed."
    )
    health_reasons: list[MemberHealthReason] = Field(
        description="Problems that the platform knows: the host is lost or reported as broken, or a probe fails. Empty: none."
    )
    probes: list[MemberProbe] = Field(description="The probes that its host runs; empty: none.")
    adapter_detail: dict[str, object] | None = Field(
        description="Details from the controller for debugging: opaque, at most 16 KiB."
    )
    operation_id: str | None = Field(description="The live operation on the member.")
    last_operation_id: str | None = Field(description="The newest operation on the member, live or ended.")
    correlation_id: CorrelationId
    verified: bool | None = Field(description="Whether its last teardown was proven; null when there was none.")
    created_at: datetime
    ready_at: datetime | None = Field(description="When the member was first ready; null before.")
    removed_at: datetime | None = Field(description="When the member was removed. It can still be read.")
    generation: Generation
    allowed_actions: list[str] = Field(description="Kinds of member operations that you may request now.")


class TimelineEvent(BaseModel):
    id: str = Field(description="Position of the event. Send it as `after` to continue from here.")
    at: datetime
    type: str = Field(examples=["instance.start_completed", "member.added", "operation.failed"])
    subject: str = Field(description="Id of the resource that the event is about.")
    actor: str = Field(description="Id of the user, service account or part of the platform that caused the event.")
    correlation_id: CorrelationId
    data: dict[str, object] = Field(description="Details of this type of event. Never a secret.")


class InstanceTimeline(BaseModel):
    instance_id: str
    items: list[TimelineEvent]
    next_cursor: str | None = Field(description="Send as `after`, with `wait`, to continue.")
