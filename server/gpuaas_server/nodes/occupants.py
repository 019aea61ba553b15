"""The allocations on a node, seen from the node: whoever has GPUs there is told what happens to the host."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.ports import Port


@dataclass(frozen=True, slots=True)
class HostChange:
    """The kind completes the name of the event that projects get: `lost` becomes `allocation.host_lost`."""

    kind: str  # lost, back, cordoned, uncordoned, draining, maintenance_planned (_started, _ended, _cancelled)
    node_ids: Sequence[str]
    reason: str | None = None
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeOccupants:
    # Caller must not hold capacity's lock on the nodes when they are lost or back.
    host_changed: Callable[[Tx, HostChange], Awaitable[None]]


node_occupants: Port[NodeOccupants] = Port("the occupants of nodes")
