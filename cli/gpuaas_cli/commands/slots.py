"""slots: the GPUs of a node as the platform allocates them."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ReasonOption
from gpuaas_cli.output import Column, print_list
from gpuaas_cli.references import node_id, slot_id
from gpuaas_cli.session import Session
from gpuaas_sdk import NodeSlots, Slot

group = CommandGroup("Slots: the GPUs of a node as the platform allocates them.")

NodeArgument = Annotated[str, typer.Argument(help="Node: id, name or hostname.")]
SlotArgument = Annotated[str, typer.Argument(help="Slot: id, or NODE/INDEX.")]
COLUMNS: list[Column[Slot]] = [
    Column("#", lambda one: one.slot_index, right=True, whole=True),
    Column("STATUS", lambda one: one.status, whole=True),
    Column("GPU", lambda one: one.gpu_model),
    Column("PCI", lambda one: one.pci_address, whole=True),
    Column("NUMA", lambda one: one.numa_node, right=True, whole=True),
    Column("LINK", lambda one: one.nvlink_group, right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]


def _by_status(node: NodeSlots) -> str:
    """Group slot numbers by status, in order of first appearance: `claimed 0 1 2 3, available 4 5`."""
    found: dict[str, list[str]] = {}
    for slot in node.slots:
        found.setdefault(slot.status, []).append(str(slot.slot_index))
    return ", ".join(f"{status} {' '.join(indexes)}" for status, indexes in found.items())


FLEET: list[Column[NodeSlots]] = [
    Column("NODE", lambda one: one.name, whole=True),
    Column("STATUS", lambda one: "cordoned" if one.cordoned else one.status, whole=True),
    Column("SLOTS", _by_status),
]
REASON: Column[Slot] = Column("REASON", lambda one: one.status_reason)


class CapacityShape(StrEnum):
    ANY = "any"
    BAREMETAL = "baremetal"
    GPU_SLICE = "gpu_slice"


@group.verb("list")
def list_(session: Session, node: NodeArgument) -> None:
    """List the slots of a node."""
    slots = session.client.slots.list(node_id(session.client, node))
    explained = any(slot.status_reason for slot in slots)
    print_list(session, slots, [*COLUMNS, REASON] if explained else COLUMNS)


@group.verb("map")
def map_(
    session: Session,
    status: Annotated[str | None, typer.Option("--status", help="Only nodes with a slot in this status.")] = None,
    limit: LimitOption = 200,
) -> None:
    """Show the status of each GPU of each node."""
    print_list(session, session.client.slots.map(status=status).first(limit), FLEET)


@group.verb("approve")
def approve(
    session: Session,
    node: NodeArgument,
    slot: Annotated[list[str] | None, typer.Option("--slot", help="Only this slot; repeat for several.")] = None,
    shape: Annotated[
        CapacityShape | None, typer.Option("--shape", help="The shapes for which the slots may be used.")
    ] = None,
) -> None:
    """Approve the discovered slots of a node, so that they can be allocated."""
    client = session.client
    found = node_id(client, node)
    wanted = [slot_id(client, f"{found}/{one}" if one.isdigit() else one) for one in slot] if slot else None
    print_list(session, client.slots.approve(found, slot_ids=wanted, capacity_shape=shape), COLUMNS)


@group.verb("disable")
def disable(session: Session, slot: SlotArgument, reason: ReasonOption) -> None:
    """Keep a slot out of the pool."""
    print_list(session, [session.client.slots.disable(slot_id(session.client, slot), reason)], COLUMNS)


@group.verb("enable")
def enable(session: Session, slot: SlotArgument) -> None:
    """Put a disabled slot back into the pool."""
    print_list(session, [session.client.slots.enable(slot_id(session.client, slot))], COLUMNS)
