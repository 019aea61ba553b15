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
    "Grade that the wipe must reach before the GPUs are allocated again: `inspected`, or `rebooted` (for a whole host, after"
    " a restart into the expected state). It applies to releases that begin from now on."
)
_ACCEPT = "Checks of the wipe that may be left out, for example `drives` where a node does not erase them."


class Slot(BaseModel):
    id: str
    node_id: str
    slot_index: int = Field(description="Index of the GPU on its node.")
    status: str = Field(description="discovered, available, claimed, cleaning, cleanup_blocked or disabled.")
    status_reason: str | None = Field(description="Why the slot is disabled or blocked.")
    capacity_shape: str = Field(description="Shape that the slot may be allocated as: any, baremetal or gpu_slice.")
    gpu_model: str
    gpu_uuid: str | None
    memory_mib: int | None = Field(description="Memory of the GPU in MiB.")
    pci_address: str
    numa_node: int | None
    nvlink_group: str | None = Field(description="GPUs with the same value are linked by NVLink.")
    nvme_device: str | None = Field(description="Drive that belongs to the slot.")
    iommu_group: int | None
    vf: dict[str, object] | None = Field(
        description="Network function that belongs to the slot, as the agent reported it."
    )
    present: bool = Field(description="Whether the last inventory contained the GPU.")
    approved_at: datetime | None = Field(description="When the slot was approved. Null: it cannot be allocated.")
    allowed_actions: AllowedActions
    generation: Generation
    created_at: datetime


class SlotList(BaseModel):
    items: list[Slot]


class MappedSlot(BaseModel):
    id: str
    slot_index: int = Field(description="Index of the GPU on its node.")
    status: SlotStatus
    status_reason: str | None = Field(description="Why the slot is disabled or blocked.")
    gpu_model: str
    allocation_id: str | None = Field(description="The allocation that has claimed the slot; null if none has.")


class HostGpu(BaseModel):
    slot_index: int = Field(description="Index of the GPU on its host.")
    claimed: bool = Field(description="Whether the GPU belongs to the allocation.")
    gpu_model: str
    memory_mib: int | None = Field(description="Memory of the GPU in MiB.")
    pci_address: str
    numa_node: int | None
    nvlink_group: str | None = Field(description="GPUs with the same value are linked by NVLink.")


class SlotApprove(Body):
    """Approval of the topology: from now on the slots can be allocated."""

    slot_ids: list[SlotId] | None = Field(
        default=None, max_length=64, description="Ids of the slots to approve. Absent: all discovered slots."
    )
    capacity_shape: Literal["any", "baremetal", "gpu_slice"] = Field(
        default="any", description="Shape that the slots may be allocated as."
    )


class SlotDisable(Body):
    reason: Reason


class Sku(BaseModel):
    id: str
    name: str
    shape: Shape = Field(
        description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host, without isolation on lab hosts."
    )
    gpu_model: str
    gpu_counts: list[int] = Field(description="Numbers of GPUs that an allocation may have.")
    price_per_gpu_hour_minor: int = Field(description="Price of a GPU for an hour, in minor units of the currency.")
    currency: str = Field(description="Currency code (ISO 4217).")
    offered: bool = Field(description="Whether new allocations may use the SKU.")
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
    gpu_model: GpuModel = Field(description="GPU model, as the inventory of the nodes names it.")
    gpu_counts: list[GpuCount] = Field(
        min_length=1, max_length=16, description="Numbers of GPUs that an allocation may have."
    )
    price_per_gpu_hour_minor: int = Field(
        ge=0, le=100_000_000, description="Price of a GPU for an hour, in minor units of the currency."
    )
    currency: Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")] = Field(
        default="USD", description="Currency code (ISO 4217)."
    )
    offered: bool = Field(default=True, description="Whether new allocations may use the SKU.")
    wipe_grade: AskedWipeGrade | None = Field(
        default=None, description=f"{_GRADE} Absent: `rebooted` for a whole host, `inspected` for a slice."
    )
    accept_not_examined: AcceptedChecks = Field(default=[], description=_ACCEPT)


class SkuUpdate(Body):
    gpu_counts: list[GpuCount] | None = Field(
        default=None,
        min_length=1,
        max_length=16,
        description="Numbers of GPUs that an allocation may have. They replace all previous ones.",
    )
    price_per_gpu_hour_minor: int | None = Field(
        default=None, ge=0, le=100_000_000, description="Price of a GPU for an hour, in minor units of the currency."
    )
    offered: bool | None = Field(default=None, description="Whether new allocations may use the SKU.")
    wipe_grade: AskedWipeGrade | None = Field(default=None, description=_GRADE)
    accept_not_examined: AcceptedChecks | None = Field(
        default=None, description=f"{_ACCEPT} They replace all previous ones."
    )


class Quota(BaseModel):
    scope_id: str = Field(description="Id of the tenant or project.")
    gpu_limit: int | None = Field(description="Largest number of GPUs. Null: no limit.")
    gpus_used: int = Field(description="GPUs of allocations that have not ended.")
    artifact_limit: int | None = Field(
        description="Largest number of artifacts. Null for a project: it has no limit of its own, and the tenant's applies."
    )
    artifacts_used: int = Field(description="Artifacts, and publish intents that have not ended.")
    artifact_byte_limit: int | None = Field(
        description="Largest number of bytes of artifacts. Null for a project: it has no limit of its own, and the tenant's"
        " applies."
    )
    artifact_bytes_used: int = Field(
        description="Bytes of artifacts, and bytes reserved for publish intents that have not ended."
    )
    unproven_gpu_limit: int | None = Field(
        description="Largest number of unproven GPUs. Null for a project: it has no limit of its own, and the tenant's"
        " applies."
    )
    unproven_gpus: int = Field(
        description="GPUs that were released but are out of use until they are proven clean, without those that only wait for"
        " a lost host. At the limit no new allocation is possible."
    )
    stream_limit: int = Field(
        description="Largest number of open streams (watches, long polls, terminals, followed logs, exports) at one api"
        " process. Each process counts for itself, so what is open is not shown. A project without a limit of its own has"
        " the platform's default for projects."
    )
    generation: Generation


Count = Annotated[int, Field(ge=0, le=10_000_000)]


class QuotaSet(Body):
    gpu_limit: int | None = Field(ge=0, le=10_000_000, description="Largest number of GPUs. Null: no limit.")
    artifact_limit: Count | None = Field(default=None, description="Null: the default. Absent: unchanged.")
    artifact_byte_limit: Annotated[int, Field(ge=0, le=1 << 53)] | None = Field(
        default=None, description="Null: the default. Absent: unchanged."
    )
    unproven_gpu_limit: Count | None = Field(default=None, description="Null: the default. Absent: unchanged.")
    stream_limit: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        default=None,
        description="Largest number of open streams at one api process. Null: the default. Absent: unchanged.",
    )


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
