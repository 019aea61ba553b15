"""Wire types of allocations."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.capacity.schemas import GpuCount
from gpuaas_server.kernel.http.schemas import Body, Reason
from gpuaas_server.kernel.ids import SshKeyId

AllocationState = Literal["requested", "provisioning", "active", "releasing", "released", "failed", "release_failed"]
AllocationName = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
SkuRef = Annotated[str, StringConstraints(min_length=3, max_length=40, pattern="^[a-z][a-z0-9_-]+$")]


class AllocationCreate(Body):
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
    code: str
    message: str
    next_step: str
    retryable: bool
    phase: str | None = None


class SshWayIn(BaseModel):
    address: str
    port: int
    user: str


class Allocation(BaseModel):
    id: str
    project_id: str
    batch_id: str | None = Field(description="Allocations of one request share it.")
    name: str | None
    sku_id: str
    sku_name: str
    shape: str
    gpu_model: str
    gpu_count: int
    node_id: str
    state: AllocationState
    state_since: datetime
    deadline_at: datetime | None = Field(description="When the step in flight counts as failed.")
    release_by: datetime | None = Field(
        description="The release waits for what runs on it to stop, until then at the latest."
    )
    phase: str | None = Field(description="The host task in flight.")
    failure: FailureReason | None
    ssh: SshWayIn | None
    wipe_verified: bool | None = Field(description="Null until released; false for ever after a forced clean-up.")
    created_by: str
    correlation_id: str
    created_at: datetime
    active_at: datetime | None
    ended_at: datetime | None
    generation: int
    allowed_actions: list[str]


class AllocationBatch(BaseModel):
    items: list[Allocation]


class TimelineEntry(BaseModel):
    at: datetime
    kind: Literal["state", "phase"]
    name: str = Field(description="The state entered, or task/phase on the host.")
    status: str
    finished_at: datetime | None = None
    seconds: float | None = None
    detail: str | None = None
    actor: str | None = None
    failure: FailureReason | None = None


class Timeline(BaseModel):
    allocation_id: str
    items: list[TimelineEntry]
    wipe_evidence: dict[str, object] | None = Field(description="What the wipe verification looked at and found.")
    forced: dict[str, object] | None
