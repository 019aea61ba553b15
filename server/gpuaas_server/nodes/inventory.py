"""A node's inventory: checked for contradictions, kept, and handed to capacity, where it waits for approval."""

import hashlib
from collections import Counter

import orjson
from pydantic import ValidationError

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import DiscoveredSlot
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.nodes import queries
from gpuaas_server.nodes.agent_schemas import Inventory, InventorySlot


def contradictions(inventory: Inventory) -> list[str]:
    """List statements of an inventory that cannot all be true of one host. Pure."""
    found = _list_duplicates("slot_index", [str(slot.slot_index) for slot in inventory.slots])
    found += _list_duplicates("pci_address", [slot.pci_address.lower() for slot in inventory.slots])
    found += _list_duplicates("gpu_uuid", [slot.gpu_uuid for slot in inventory.slots if slot.gpu_uuid])
    found += _list_duplicates("numa node", [str(numa.node) for numa in inventory.host.numa_nodes])
    return found


def _list_duplicates(what: str, values: list[str]) -> list[str]:
    return [f"{what} {value} appears {n} times" for value, n in Counter(values).items() if n > 1][:10]


def read_inventory(document: object) -> Inventory:
    """Read the inventory inside a task result, which no endpoint has validated yet."""
    try:
        return Inventory.model_validate(document)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}"[:200] for e in error.errors()[:10]]
        raise Problem("inventory_invalid", "The inventory does not match its schema.", {"faults": faults}) from error


async def inventory_store(tx: Tx, node_id: str, inventory: Inventory) -> None:
    faults = contradictions(inventory)
    if faults:
        raise Problem("inventory_invalid", f"{faults[0]}.", {"faults": faults})
    whole = orjson.dumps(inventory.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
    shown = inventory.model_dump(mode="json", include={"host", "warnings"})
    digest = hashlib.sha256(whole).digest()
    if not await queries.node_inventory_set(tx.connection, node_id, orjson.dumps(shown).decode(), digest):
        return
    counts: dict[str, object] = {"slots": len(inventory.slots), "warnings": len(inventory.warnings)}
    if not await capacity.inventory_apply(tx, node_id, [_discovered(slot) for slot in inventory.slots]):
        await queries.node_inventory_forget(tx.connection, node_id)  # the same report counts when the slots are free
        counts["held_back"] = True
    await audit.record(tx, AuditEntry("agent_inventory", node_id, details=counts))
    await events.emit(tx, NewEvent("node.inventory_changed", node_id, data=counts))


def _discovered(slot: InventorySlot) -> DiscoveredSlot:
    return DiscoveredSlot(
        slot_index=slot.slot_index,
        gpu_model=slot.gpu_model,
        pci_address=slot.pci_address.lower(),
        gpu_uuid=slot.gpu_uuid,
        memory_mib=slot.memory_mib,
        numa_node=slot.numa_node,
        nvlink_group=None if slot.nvlink_group is None else str(slot.nvlink_group),
        nvme_device=slot.nvme_device,
        iommu_group=slot.iommu_group,
        vf=slot.vf,
    )
