"""Wire types of slots, SKUs and quotas."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Generation, Name, Reason, Slug, examples
from gpuaas_server.kernel.ids import SlotId
from gpuaas_server.kernel.wipe_grades import AskedWipeGrade, WipeGrade

Shape = Literal["baremetal", "gpu_slice"]
CheckName = Annotated[str, StringConstraints(pattern="^[a-z][a-z_]{1,39}$")]
SlotStatus = Literal["discovered", "available", "claimed", "cleaning", "cleanup_blocked", "disabled"]
GpuModel = Annotated[str, StringConstraints(min_length=2, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._/()+-]*$")]
GpuCount = Annotated[int, Field(ge=1, le=64)]


AcceptedChecks = Annotated[list[CheckName], Field(max_length=32)]
_GRADE = (
    "What the wipe has to reach before its GPUs are given to another: `inspected`, or `rebooted` (of a whole host, after a"
    " restart into what the platform expects). It counts for releases that begin from now on."
)
_ACCEPT = "Checks of the wipe that need not have looked, for instance `drives` where a node does not erase them."


class Slot(BaseModel):
    id: str
    node_id: str
    slot_index: int = Field(description="The GPU's number on its node.")
    status: str = Field(description="discovered, available, claimed, cleaning, cleanup_blocked or disabled.")
    status_reason: str | None = Field(description="Why it is disabled or blocked.")
    capacity_shape: str = Field(description="What it may be allocated as: any, baremetal or gpu_slice.")
    gpu_model: str
    gpu_uuid: str | None
    memory_mib: int | None = Field(description="Of the GPU.")
    pci_address: str
    numa_node: int | None
    nvlink_group: str | None = Field(description="GPUs with the same value are linked.")
    nvme_device: str | None = Field(description="The drive that goes with it.")
    iommu_group: int | None
    vf: dict[str, object] | None = Field(
        description="The network function that goes with it, as the agent reported it."
    )
    present: bool = Field(description="Whether the last inventory had it.")
    approved_at: datetime | None = Field(description="Null: nobody has approved it, so it can not be allocated.")
    allowed_actions: AllowedActions
    generation: Generation
    created_at: datetime


class SlotList(BaseModel):
    items: list[Slot]


class MappedSlot(BaseModel):
    id: str
    slot_index: int = Field(description="The GPU's number on its node.")
    status: SlotStatus
    status_reason: str | None = Field(description="Why it is disabled or blocked.")
    gpu_model: str
    allocation_id: str | None = Field(description="What holds it.")


class HostGpu(BaseModel):
    slot_index: int = Field(description="The GPU's number on its host.")
    claimed: bool = Field(description="Whether it belongs to the allocation.")
    gpu_model: str
    memory_mib: int | None
    pci_address: str
    numa_node: int | None
    nvlink_group: str | None = Field(description="GPUs with the same value are linked.")


class SlotApprove(Body):
    """Topology approval: from here on the slots can be allocated."""

    slot_ids: list[SlotId] | None = Field(default=None, max_length=64, description="Absent: all discovered ones.")
    capacity_shape: Literal["any", "baremetal", "gpu_slice"] = Field(
        default="any", description="What they may be allocated as."
    )


class SlotDisable(Body):
    reason: Reason


class Sku(BaseModel):
    id: str
    name: str
    shape: Shape = Field(
        description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host; on lab hosts it isolates nothing."
    )
    gpu_model: str
    gpu_counts: list[int] = Field(description="How many GPUs one allocation may have.")
    price_per_gpu_hour_minor: int = Field(description="In minor units of the currency.")
    currency: str = Field(description="ISO 4217.")
    offered: bool = Field(description="Whether new allocations may name it.")
    wipe_grade: WipeGrade = Field(description=_GRADE)
    accept_not_examined: list[str] = Field(description=_ACCEPT)
    generation: Generation
    created_at: datetime


class SkuCreate(Body):
    model_config = examples(
        {
            "name": "h100-slice",
            "shape": "gpu_slice",
            "gpu_model": "NVIDIA H100 80GB HBM3",
            "gpu_counts": [1, 2, 4],
            "price_per_gpu_hour_minor": 250,
        }
    )

    name: Slug
    shape: Shape = Field(description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host.")
    gpu_model: GpuModel = Field(description="As the inventory of the nodes names it.")
    gpu_counts: list[GpuCount] = Field(min_length=1, max_length=16, description="Offered GPU counts per allocation.")
    price_per_gpu_hour_minor: int = Field(ge=0, le=100_000_000, description="In minor units of the currency.")
    currency: Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")] = Field(default="USD", description="ISO 4217.")
    offered: bool = True
    wipe_grade: AskedWipeGrade | None = Field(
        default=None, description=f"{_GRADE} Absent: `rebooted` of a whole host, `inspected` of a slice."
    )
    accept_not_examined: AcceptedChecks = Field(default=[], description=_ACCEPT)


class SkuUpdate(Body):
    gpu_counts: list[GpuCount] | None = Field(
        default=None, min_length=1, max_length=16, description="In place of all counts until now."
    )
    price_per_gpu_hour_minor: int | None = Field(
        default=None, ge=0, le=100_000_000, description="In minor units of the currency."
    )
    offered: bool | None = None
    wipe_grade: AskedWipeGrade | None = Field(default=None, description=_GRADE)
    accept_not_examined: AcceptedChecks | None = Field(
        default=None, description=f"{_ACCEPT} In place of all until now."
    )


class Quota(BaseModel):
    scope_id: str = Field(description="The tenant or project.")
    gpu_limit: int | None = Field(description="Null: no limit.")
    gpus_used: int = Field(description="Held by allocations that have not ended.")
    artifact_limit: int | None = Field(description="Null, of a project: none of its own, the tenant's counts.")
    artifacts_used: int = Field(description="Artifacts, and publish intents that have not ended.")
    artifact_byte_limit: int | None = Field(description="Null, of a project: none of its own, the tenant's counts.")
    artifact_bytes_used: int = Field(description="Of artifacts, and reserved for publish intents that have not ended.")
    unproven_gpu_limit: int | None = Field(description="Null, of a project: none of its own, the tenant's counts.")
    unproven_gpus: int = Field(
        description="Released, but out of use until it is proven that they are clean; not those that only wait for a lost host."
        " At the limit nothing more is given."
    )
    generation: Generation


Count = Annotated[int, Field(ge=0, le=10_000_000)]


class QuotaSet(Body):
    gpu_limit: int | None = Field(ge=0, le=10_000_000, description="Null: no limit.")
    artifact_limit: Count | None = Field(default=None, description="Null: the default. Not sent: as it was.")
    artifact_byte_limit: Annotated[int, Field(ge=0, le=1 << 53)] | None = Field(
        default=None, description="Null: the default. Not sent: as it was."
    )
    unproven_gpu_limit: Count | None = Field(default=None, description="Null: the default. Not sent: as it was.")


__all__ = [
    "GpuCount",
    "GpuModel",
    "Name",
    "Quota",
    "QuotaSet",
    "Shape",
    "Sku",
    "SkuCreate",
    "SkuUpdate",
    "Slot",
    "SlotApprove",
    "SlotDisable",
    "SlotList",
]
