"""The states of a sample item: what to do next, from a snapshot and the time alone.

It stays in a state for at most `LIMIT` and then goes to the next one; the last state is final.
"""

from datetime import datetime, timedelta

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.work.reconcilers import Wait

STATES = ("requested", "active", "ended")
TRANSITIONS: dict[str, frozenset[str]] = {
    "requested": frozenset({"active"}),
    "active": frozenset({"ended"}),
    "ended": frozenset(),
}
LIMIT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    state: str
    state_since: datetime


@dataclass(frozen=True, slots=True)
class Move:
    """Go to this state now."""

    state: str


def decide(snapshot: Snapshot, now: datetime) -> Move | Wait:
    following = TRANSITIONS[snapshot.state]
    if not following:
        return Wait()
    deadline = snapshot.state_since + LIMIT
    return Wait(deadline) if now < deadline else Move(min(following))
