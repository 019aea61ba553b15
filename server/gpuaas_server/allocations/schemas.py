"""Wire types of allocations."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.capacity.schemas import GpuCount, HostGpu
from gpuaas_server.kernel.http.schemas import (
    LINES,
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
        default=None, description="GPUs of each allocation. Required when the SKU offers several counts."
    )
    count: int = Field(
        default=1, ge=1, le=256, description="Number of allocations. Either all of them are created or none."
    )
    name: AllocationName | None = Field(
        default=None, description="Name of the allocation. When `count` is larger than 1, -1, -2 and so on is appended."
    )
    ssh_key_ids: Annotated[list[SshKeyId], Field(max_length=16)] | None = Field(
        default=None, description="Ids of your stored SSH keys that may log in while the allocation lives."
    )


class AllocationRelease(Body):
    reason: Reason | None = Field(default=None, description="Why the allocation is released.")


class ForceCleanup(Body):
    """A person takes responsibility for a wipe that is not proven. The record says not verified permanently."""

    reason: Reason
    evidence: Annotated[str, StringConstraints(min_length=10, max_length=4000, pattern=LINES)] = Field(
        description="What was checked on the host, how, and by whom."
    )


class FailureReason(BaseModel):
    code: str = Field(description="A stable code: one of contract/error-codes.json, or one of the host.")
    message: str = Field(description="An explanation for people.")
    next_step: str = Field(description="What a person should do next.")
    retryable: bool = Field(description="Whether a retry may succeed.")
    phase: str | None = Field(default=None, description="The host task that failed, if one did.")


class SshAddress(BaseModel):
    address: str = Field(description="Name or IP address of the host.")
    port: int = Field(description="Port of the host's sshd.")
    user: str = Field(description="The user name to log in with.")


class AllocationHealthReason(BaseModel):
    code: str = Field(description="A stable code for programs, such as host_lost, host_draining or host_cordoned.")
    message: str = Field(description="An explanation for people.")
    since: datetime | None = Field(description="When the condition began, or when it will begin.")
    until: datetime | None = Field(default=None, description="When the condition is expected to end, if that is known.")
    next_step: str = Field(description="What a person should do next.")
    choices: list[Literal["wait", "release", "replace"]] = Field(
        description="The sensible actions now. `replace` releases the allocation and creates one of the same SKU on another"
        " host."
    )


class Allocation(BaseModel):
    id: str
    project_id: str
    batch_id: str | None = Field(description="Id that all allocations of one request share.")
    name: str | None
    sku_id: str
    sku_name: str
    shape: str = Field(description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host.")
    gpu_model: str
    gpu_count: int = Field(description="Number of GPUs of this allocation.")
    node_id: str = Field(description="The host, chosen when the allocation was created.")
    state: AllocationState
    state_since: datetime = Field(description="When the allocation entered its state.")
    deadline_at: datetime | None = Field(description="When the current step counts as failed.")
    release_by: datetime | None = Field(
        description="Latest time at which the release stops waiting for the app on it to stop."
    )
    phase: str | None = Field(description="The host task that is running.")
    failure: FailureReason | None = Field(description="Why the allocation is failed or release_failed; otherwise null.")
    health: HealthStatus | None = Field(
        description="Health, derived from the allocation's state and its host's. unhealthy: it cannot be used. Null once it"
        " has ended."
    )
    health_reasons: list[AllocationHealthReason] = Field(
        description="Why the allocation is not healthy, and what is planned for its host."
    )
    ssh: SshAddress | None = Field(description="Where to log in, once the allocation is active.")
    wipe_verified: bool | None = Field(
        description="Whether the wipe is proven: null until the release has ended, false permanently after a forced clean-up."
    )
    wipe_grade_required: WipeGrade | None = Field(
        description="The grade that the wipe must reach: the higher of the SKU's and the tenant's when the release began."
        " Null before."
    )
    wipe_grade: WipeGrade | None = Field(
        description="The grade that the proof of the wipe reached: `inspected` (the host examined itself) or `rebooted` (it"
        " did so after a restart into the expected state). Null: nothing is proven."
    )
    wipe_not_examined: list[str] = Field(description="Checks of the wipe that did not examine anything.")
    created_by: str = Field(description="Id of the user or service account.")
    correlation_id: CorrelationId
    created_at: datetime
    active_at: datetime | None = Field(description="When the allocation became active; null if it never did.")
    ended_at: datetime | None = Field(
        description="When the allocation was released or failed. From then on it claims no GPU."
    )
    generation: Generation
    allowed_actions: AllowedActions


class AllocationBatch(BaseModel):
    items: list[Allocation]


class Topology(BaseModel):
    allocation_id: str
    node_id: str = Field(description="The host.")
    gpus: list[HostGpu] = Field(description="All GPUs of the host by index; `claimed` marks those of the allocation.")


class TimelineEntry(BaseModel):
    at: datetime = Field(description="When the state was entered or the phase began.")
    kind: Literal["state", "phase"]
    name: str = Field(description="The state, or the task and phase on the host.")
    status: str = Field(
        description="For a state: current or left. For a task or phase: its outcome, or that it is still running."
    )
    finished_at: datetime | None = None
    seconds: float | None = Field(default=None, description="Duration in seconds, once it has ended.")
    detail: str | None = Field(default=None, description="What the host reported, or the reason that was given.")
    actor: str | None = Field(
        default=None, description="Id of the user, service account or part of the platform that caused the state."
    )
    failure: FailureReason | None = None


class Timeline(BaseModel):
    allocation_id: str
    items: list[TimelineEntry] = Field(description="States and phases, oldest first.")
    wipe_evidence: dict[str, object] | None = Field(description="What the verification of the wipe examined and found.")
    forced: dict[str, object] | None = Field(
        description="Who took responsibility for an unproven wipe (by, at, reason, evidence); otherwise null."
    )


class HostReportCreate(Body):
    """A tenant's report of a broken host."""

    model_config = examples({"reason": "GPU 3 falls off the bus under load, Xid 79"})

    reason: Reason


class HostReportClear(Body):
    reason: Reason = Field(description="What was examined or repaired.")


class HostReport(BaseModel):
    id: str
    project_id: str
    allocation_id: str
    node_id: str
    reason: str = Field(description="What is broken, in the words of the person who reported it.")
    reported_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    cleared_at: datetime | None = Field(
        default=None,
        description="When an operator cleared the report. Until then the host's GPUs do not return to the pool.",
    )
    cleared_by: str | None = Field(default=None, description="Id of the operator who cleared the report.")
    cleared_reason: str | None = Field(default=None, description="What the operator examined or repaired.")
    allowed_actions: AllowedActions = []
