"""Derives from a node's row what the node is and what may be done with it. Pure."""

from collections.abc import Iterable

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.nodes.rows import MappedNode, NodeRow
from gpuaas_server.nodes.schemas import NodeStatus

ACTIONS = (
    "node_update",
    "node_cordon",
    "node_uncordon",
    "node_drain",
    "node_discover",
    "node_retire",
)


@dataclass(frozen=True, slots=True)
class NodeState:
    approved: bool
    cordoned: bool
    draining: bool
    drain_planned: bool
    lost: bool
    retired: bool
    claimed: bool = False

    @classmethod
    def of(cls, row: NodeRow | MappedNode, claimed: bool = False) -> "NodeState":
        return cls(
            approved=row.approved,
            cordoned=row.cordoned,
            draining=row.draining,
            drain_planned=row.drain_at is not None,
            lost=row.lost_since is not None,
            retired=row.retired_at is not None,
            claimed=claimed,
        )

    @property
    def eligible(self) -> bool:
        """Return whether the scheduler may use its approved slots."""
        return not (self.cordoned or self.lost or self.retired)


def node_status(state: NodeState) -> NodeStatus:
    if state.retired:
        return "retired"
    if state.lost:
        return "lost"
    return "ready" if state.approved else "enrolled"


def possible_actions(state: NodeState) -> list[str]:
    """List what the state allows, whoever asks. The verbs refuse by the same list."""
    if state.retired:
        return []
    wanted: Iterable[tuple[str, bool]] = (
        ("node_update", True),
        ("node_cordon", not state.cordoned or state.draining or state.drain_planned),
        ("node_uncordon", state.cordoned),
        ("node_drain", not state.draining),
        ("maintenance_window_plan", True),
        ("node_key_approve", state.lost),
        ("node_discover", not state.lost),
        ("node_retire", not state.claimed),
    )
    return [action for action, possible in wanted if possible]
