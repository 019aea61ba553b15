"""Wire types of slots, SKUs and quotas."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Name, Reason, Slug
from gpuaas_server.kernel.ids import SlotId

Shape = Literal["baremetal", "gpu_slice"]
GpuModel = Annotated[str, StringConstraints(min_length=2, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._/()+-]*$")]
GpuCount = Annotated[int, Field(ge=1, le=64)]


class Slot(BaseModel):
    id: str
    node_id: str
    slot_index: int
    status: str = Field(description="discovered, available, claimed, cleaning, cleanup_blocked or disabled.")
    status_reason: str | None
    capacity_shape: str
    gpu_model: str
    gpu_uuid: str | None
    memory_mib: int | None
    pci_address: str
    numa_node: int | None
    nvlink_group: str | None
    nvme_device: str | None
    iommu_group: int | None
    vf: dict[str, object] | None
    present: bool = Field(description="Whether the last inventory had it.")
    approved_at: datetime | None
    generation: int
    created_at: datetime


class SlotList(BaseModel):
    items: list[Slot]


class SlotApprove(Body):
    """Topology approval: from here on the slots can be allocated."""

    slot_ids: list[SlotId] | None = Field(default=None, max_length=64, description="Absent: all discovered ones.")
    capacity_shape: Literal["any", "baremetal", "gpu_slice"] = "any"


class SlotDisable(Body):
    reason: Reason


class Sku(BaseModel):
    id: str
    name: str
    shape: Shape
    gpu_model: str
    gpu_counts: list[int]
    price_per_gpu_hour_minor: int = Field(description="In minor units of the currency.")
    currency: str
    offered: bool
    generation: int
    created_at: datetime


class SkuCreate(Body):
    name: Slug
    shape: Shape
    gpu_model: GpuModel
    gpu_counts: list[GpuCount] = Field(min_length=1, max_length=16, description="Offered GPU counts per allocation.")
    price_per_gpu_hour_minor: int = Field(ge=0, le=100_000_000)
    currency: Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")] = "USD"
    offered: bool = True


class SkuUpdate(Body):
    gpu_counts: list[GpuCount] | None = Field(default=None, min_length=1, max_length=16)
    price_per_gpu_hour_minor: int | None = Field(default=None, ge=0, le=100_000_000)
    offered: bool | None = None


class Quota(BaseModel):
    scope_id: str
    gpu_limit: int | None = Field(description="Null: no limit.")
    gpus_used: int
    generation: int


class QuotaSet(Body):
    gpu_limit: int | None = Field(ge=0, le=10_000_000)


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
