"""Declares what nodes tell, and ask of, the noun that has GPUs on them: allocations."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.hooks import Hook


@dataclass(frozen=True, slots=True)
class HostChange:
    """The kind completes the name of the event that projects get: `lost` becomes `allocation.host_lost`."""

    # lost, back, cordoned, uncordoned, drain_planned (_cancelled), draining, maintenance_planned (_started, _ended, _cancelled)
    kind: str
    node_ids: Sequence[str]
    reason: str | None = None
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeHooks:
    # Caller must not hold capacity's lock on the nodes when they are lost or back.
    host_changed: Callable[[Tx, HostChange], Awaitable[None]]
    # Ask for the release of all that is on the node, for this reason; the answer names the allocations.
    release_allocations: Callable[[Tx, str, str], Awaitable[list[str]]]
    # Tell whether a release would end something on the node.
    has_live_allocations: Callable[[Connection, str], Awaitable[bool]]


node_hooks: Hook[NodeHooks] = Hook("node_hooks")
