"""Wire types of allocations."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.capacity.schemas import GpuCount, HostGpu
from gpuaas_server.kernel.http.schemas import (
    AllowedActions,
    Body,
    CorrelationId,
    Generation,
    HealthStatus,
    Reason,
    examples,
)
from gpuaas_server.kernel.ids import SshKeyId
from gpuaas_server.kernel.wipe_grades import WipeGrade

AllocationState = Literal["requested", "provisioning", "active", "releasing", "released", "failed", "release_failed"]
AllocationName = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
SkuRef = Annotated[str, StringConstraints(min_length=3, max_length=40, pattern="^[a-z][a-z0-9_-]+$")]


class AllocationCreate(Body):
    model_config = examples({"sku": "h100-slice", "gpu_count": 2, "count": 4, "name": "training"})

    sku: SkuRef = Field(description="Id or name of an offered SKU.")
    gpu_count: GpuCount | None = Field(
        default=None, description="GPUs of each allocation; needed when the SKU offers several counts."
    )
    count: int = Field(default=1, ge=1, le=256, description="How many allocations: all of them or none.")
    name: AllocationName | None = Field(default=None, description="With count > 1, -1, -2 … is appended.")
    ssh_key_ids: Annotated[list[SshKeyId], Field(max_length=16)] | None = Field(
        default=None, description="Stored SSH keys of yours that may log in, for as long as the allocation lives."
    )


class AllocationRelease(Body):
    reason: Reason | None = None


class ForceCleanup(Body):
    """The wipe is not proven, and a person takes responsibility. Recorded as not verified for ever."""

    reason: Reason
    evidence: Annotated[
        str, StringConstraints(min_length=10, max_length=4000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")
    ] = Field(description="What was checked on the host, how, and by whom.")


class FailureReason(BaseModel):
    code: str = Field(description="Stable; listed in contract/error-codes.json, or the host's own.")
    message: str = Field(description="For a person.")
    next_step: str = Field(description="What a person should do.")
    retryable: bool = Field(description="Whether the same may succeed later.")
    phase: str | None = Field(default=None, description="The host task that failed, where one did.")


class SshWayIn(BaseModel):
    address: str = Field(description="Name or IP address of the host.")
    port: int
    user: str = Field(description="The account to log in as.")


class AllocationHealthReason(BaseModel):
    code: str = Field(description="Stable, for programs: host_lost, host_draining, host_cordoned and so on.")
    message: str = Field(description="For a person.")
    since: datetime | None = Field(description="Since when it is so, or from when it will be.")
    until: datetime | None = Field(default=None, description="Until when it is to last, where that is known.")
    next_step: str = Field(description="What a person should do.")
    choices: list[Literal["wait", "release", "replace"]] = Field(
        description="What makes sense now; `replace` is a release, and an allocation of the same SKU elsewhere."
    )


class Allocation(BaseModel):
    id: str
    project_id: str
    batch_id: str | None = Field(description="Allocations of one request share it.")
    name: str | None
    sku_id: str
    sku_name: str
    shape: str = Field(description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host.")
    gpu_model: str
    gpu_count: int = Field(description="GPUs of this allocation.")
    node_id: str = Field(description="The host that was chosen when it was asked for.")
    state: AllocationState
    state_since: datetime
    deadline_at: datetime | None = Field(description="When the step in flight counts as failed.")
    release_by: datetime | None = Field(
        description="The release waits for what runs on it to stop, until then at the latest."
    )
    phase: str | None = Field(description="The host task in flight.")
    failure: FailureReason | None = Field(description="Why it is failed or release_failed; else null.")
    health: HealthStatus | None = Field(
        description="How it is, from its own state and its host's; unhealthy: it can not be used. Null once it has ended."
    )
    health_reasons: list[AllocationHealthReason] = Field(
        description="Why it is not healthy, and what is going to happen to its host."
    )
    ssh: SshWayIn | None = Field(description="The way in, once it is active.")
    wipe_verified: bool | None = Field(description="Null until released; false for ever after a forced clean-up.")
    wipe_grade_required: WipeGrade | None = Field(
        description="What its wipe has to reach: the higher of the SKU's and the tenant's grade when the release began; null"
        " before."
    )
    wipe_grade: WipeGrade | None = Field(
        description="What the proof of its wipe reached: `inspected` (the host looked at itself), `rebooted` (after a restart"
        " into what the platform expects). Null: nothing is proven."
    )
    wipe_not_examined: list[str] = Field(description="Checks of the wipe that did not look.")
    created_by: str = Field(description="Id of the user or service account.")
    correlation_id: CorrelationId
    created_at: datetime
    active_at: datetime | None = Field(description="Since when it could be used; null if it never could.")
    ended_at: datetime | None = Field(
        description="When it was released or had failed; nothing is claimed from then on."
    )
    generation: Generation
    allowed_actions: AllowedActions


class AllocationBatch(BaseModel):
    items: list[Allocation]


class Topology(BaseModel):
    allocation_id: str
    node_id: str = Field(description="The host.")
    gpus: list[HostGpu] = Field(
        description="All of the host by their index; `claimed` says which are the allocation's."
    )


class TimelineEntry(BaseModel):
    at: datetime
    kind: Literal["state", "phase"]
    name: str = Field(description="The state entered, or task/phase on the host.")
    status: str = Field(
        description="Of a state: current or left. Of a task or phase: how it ended, or that it has not."
    )
    finished_at: datetime | None = None
    seconds: float | None = Field(default=None, description="How long it took, once it has ended.")
    detail: str | None = Field(
        default=None, description="What the host said of it, or the reason that was given for it."
    )
    actor: str | None = Field(
        default=None, description="Id of who caused the state: a person, a service account or the platform."
    )
    failure: FailureReason | None = None


class Timeline(BaseModel):
    allocation_id: str
    items: list[TimelineEntry]
    wipe_evidence: dict[str, object] | None = Field(description="What the wipe verification looked at and found.")
    forced: dict[str, object] | None = Field(
        description="Who took responsibility for a wipe without proof (by, at, reason, evidence); null otherwise."
    )


class HostReportCreate(Body):
    """The tenant says that the host does not do what it should."""

    model_config = examples({"reason": "GPU 3 falls off the bus under load, Xid 79"})

    reason: Reason


class HostReportClear(Body):
    reason: Reason = Field(description="What was looked at or repaired.")


class HostReport(BaseModel):
    id: str
    project_id: str
    allocation_id: str
    node_id: str
    reason: str = Field(description="In the words of who reported it.")
    reported_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    cleared_at: datetime | None = Field(default=None, description="Null: its GPUs do not return to the pool.")
    cleared_by: str | None = None
    cleared_reason: str | None = Field(default=None, description="What the operator looked at or repaired.")
    allowed_actions: AllowedActions = []
