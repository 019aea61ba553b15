"""Rows of slots, SKUs and quotas."""

from datetime import datetime
from typing import TypedDict

from gpuaas_server.capacity.schemas import Shape
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.wipe_grades import WipeGrade

# The states of a slot. They are not in tables.py: that loads a library which only migrations need.
SLOT_STATUSES = ("discovered", "available", "claimed", "cleaning", "cleanup_blocked", "disabled")
OUT_OF_USE = ("discovered", "cleanup_blocked", "disabled")


@dataclass(frozen=True, slots=True)
class SlotRow:
    """A GPU of a node. `vf` is the network function that goes with it, as the agent reported it."""

    id: str
    node_id: str
    slot_index: int
    status: str
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
    present: bool
    approved_at: datetime | None
    generation: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class HostSlot(SlotRow):
    """A GPU of a host where an allocation lives. `claimed`: it is the allocation's, or was until that ended."""

    claimed: bool


@dataclass(frozen=True, slots=True)
class ClaimedSlot(SlotRow):
    """A GPU with the allocation that has claimed it."""

    allocation_id: str


@dataclass(frozen=True, slots=True)
class SlotUse:
    """A GPU with the allocation that has it now."""

    id: str
    node_id: str
    slot_index: int
    status: str
    status_reason: str | None
    gpu_model: str
    allocation_id: str | None


@dataclass(frozen=True, slots=True)
class SlotDevices:
    """The drive and the network function that are on record for a GPU."""

    pci_address: str
    nvme_device: str | None
    vf: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class SlotCount:
    """Counts the slots of a node that have a status."""

    node_id: str
    status: str
    count: int


@dataclass(frozen=True, slots=True)
class OfferedSlot:
    """A free slot of a node that is locked for us; without `slot_id`, the node has none.

    The row without a node comes last, and its `slot_index` is the number of nodes that are locked.
    """

    node_id: str | None
    slot_id: str | None
    slot_index: int
    nvlink_group: str | None
    numa_node: int | None


@dataclass(frozen=True, slots=True)
class NewSku:
    """A SKU to insert."""

    id: str
    name: str
    shape: Shape
    gpu_model: str
    gpu_counts: list[int]
    price_per_gpu_hour_minor: int
    currency: str
    offered: bool
    wipe_grade: WipeGrade
    accept_not_examined: list[str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SkuRow(NewSku):
    """A SKU."""

    generation: int


@dataclass(frozen=True, slots=True)
class RequestedSku(SkuRow):
    """A SKU, with the wipe grade that the tenant who names it requires of whole hosts."""

    tenant_grade: WipeGrade


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """The limits and the use of a tenant or a project; the defaults are those of one without a row."""

    scope_id: str
    gpu_limit: int | None = None
    gpus_used: int = 0
    artifact_limit: int | None = None
    artifacts_used: int = 0
    artifact_byte_limit: int | None = None
    artifact_bytes_used: int = 0
    unproven_gpu_limit: int | None = None
    unproven_gpus: int = 0
    stream_limit: int | None = None
    generation: int = 0


class QuotaRefusal(TypedDict):
    """Names the quota that is in the way, as `reserve_artifact_quota` says it."""

    quota: str
    scope_id: str
    limit: int
    used: int
    wanted: int
