"""What can be had: slots on nodes, SKUs, quotas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class Slot(Resource):
    id: str
    node_id: str = ""
    slot_index: int = 0
    gpu_model: str = ""
    pci_address: str = ""
    numa_node: int | None = None
    nvlink_group: str | None = None
    nvme_device: str | None = None
    gpu_uuid: str | None = None
    memory_mib: int | None = None
    iommu_group: int | None = None
    vf: Mapping[str, object] | None = None
    capacity_shape: str = "any"
    status: str = ""
    status_reason: str | None = None
    present: bool = True
    approved_at: datetime | None = None
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Sku(Resource):
    id: str
    name: str
    shape: str = ""
    gpu_model: str = ""
    gpu_counts: list[int] = field(default_factory=list)
    price_per_gpu_hour_minor: int = 0
    currency: str = ""
    offered: bool = True
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Quota(Resource):
    scope_id: str = ""
    gpu_limit: int | None = None
    gpus_used: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSku:
    name: str
    shape: str
    gpu_model: str
    gpu_counts: Sequence[int]
    price_per_gpu_hour_minor: int
    currency: str
    offered: bool = True

    def body(self) -> dict[str, object]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**fields, "gpu_counts": list(self.gpu_counts)}


class Slots(Calls):
    def list(self, node_id: str) -> Sequence[Slot]:
        """All slots of a node, in the order of their index."""
        return self._read(_SlotItems, "nodes", node_id, "slots").items

    def approve(
        self, node_id: str, slot_ids: Sequence[str] | None = None, capacity_shape: str | None = None
    ) -> Sequence[Slot]:
        """Let discovered slots be allocated: those named, or all of the node."""
        named = None if slot_ids is None else [*slot_ids]
        body = given(slot_ids=named, capacity_shape=capacity_shape)
        path = ("nodes", node_id, "slots", "approve")
        return self._change("POST", _SlotItems, *path, body=body).items

    def disable(self, slot_id: str, reason: str) -> Slot:
        return self._change("POST", Slot, "slots", slot_id, "disable", body={"reason": reason})

    def enable(self, slot_id: str) -> Slot:
        return self._change("POST", Slot, "slots", slot_id, "enable")


@dataclass(frozen=True, kw_only=True)
class _SlotItems:
    items: list[Slot] = field(default_factory=list)


class Skus(Calls):
    def list(self) -> Pages[Sku]:
        return self._pages(Sku, "skus")

    def create(self, sku: NewSku) -> Sku:
        return self._change("POST", Sku, "skus", body=sku.body())

    def update(
        self,
        sku_id: str,
        *,
        offered: bool | None = None,
        price_per_gpu_hour_minor: int | None = None,
        gpu_counts: Sequence[int] | None = None,
        generation: int | None = None,
    ) -> Sku:
        body = given(
            offered=offered,
            price_per_gpu_hour_minor=price_per_gpu_hour_minor,
            gpu_counts=None if gpu_counts is None else [*gpu_counts],
        )
        return self._change("PATCH", Sku, "skus", sku_id, body=body, generation=generation)


class Quotas(Calls):
    """`gpu_limit=None` means no limit of its own."""

    def of_tenant(self, tenant_id: str) -> Quota:
        return self._read(Quota, "tenants", tenant_id, "quota")

    def set_tenant(self, tenant_id: str, gpu_limit: int | None) -> Quota:
        return self._change("PUT", Quota, "tenants", tenant_id, "quota", body={"gpu_limit": gpu_limit})

    def of_project(self, project_id: str) -> Quota:
        return self._read(Quota, "projects", project_id, "quota")

    def set_project(self, project_id: str, gpu_limit: int | None) -> Quota:
        path = ("projects", project_id, "quota")
        return self._change("PUT", Quota, *path, body={"gpu_limit": gpu_limit})
