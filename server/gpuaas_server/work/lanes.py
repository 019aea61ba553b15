"""Lanes: which work may hold up which. Pure: the table of kinds, the slots of one worker, and the choice of what runs next.

Every lane has slots that no other lane takes. The short lanes share some more; long work stays in slots of its own. Within a
lane the flow (a tenant; empty for the platform's own work) that runs least goes first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import IntEnum

from gpuaas_server.kernel.dataclass import dataclass


class Lane(IntEnum):
    """Lanes in the order of urgency: of two requests for one row, the smaller number wins."""

    SAFETY = 0  # work that revokes access, returns hosts, or detects a lost one
    INTERACTIVE = 1  # work that a person waits for
    BULK = 2  # work that may take minutes: reading images, removing old rows, wrapping keys again


# The lane of each kind of work. A row may be asked for in a more urgent one: the release of an allocation and a change of
# who may enter it are asked for in the safety lane.
LANE_OF_KIND: Mapping[str, Lane] = {
    "node_liveness": Lane.SAFETY,
    "node_maintenance": Lane.SAFETY,  # nothing new may land on a host that is about to be switched off
    "node_drain": Lane.SAFETY,  # its projects were told this time
    "access_end": Lane.SAFETY,
    "operation_access_end": Lane.SAFETY,
    "ssh_keys_delete": Lane.SAFETY,
    "secret_erase": Lane.SAFETY,
    "instance_flag": Lane.SAFETY,
    "controller_leases_end": Lane.SAFETY,
    "allocation": Lane.INTERACTIVE,
    "operation": Lane.INTERACTIVE,
    "instance_health": Lane.INTERACTIVE,
    "instance_drift": Lane.INTERACTIVE,
    "smoke_launch": Lane.INTERACTIVE,
    "terminal": Lane.INTERACTIVE,
    "log_read": Lane.INTERACTIVE,
    "app_service": Lane.INTERACTIVE,
    "publish_intent": Lane.BULK,
    "artifact_check": Lane.BULK,
    "artifact_delete": Lane.BULK,
    "deletion": Lane.BULK,
    "housekeeping": Lane.BULK,
    "secret_rewrap": Lane.BULK,
    "key_custody": Lane.BULK,
}
# Their work is over in milliseconds, so that a slot lent to one of them soon comes back.
SHORT = frozenset({Lane.SAFETY, Lane.INTERACTIVE})
RESERVED_PART = 5  # each short lane has this part of their slots for itself: a fifth


NO_TURNS: Mapping[tuple[Lane, str], int] = {}


def lane_of(kind: str) -> Lane:
    return LANE_OF_KIND.get(kind, Lane.INTERACTIVE)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The slots of one worker: those of one lane alone, those that the short lanes share, and how many one flow may use."""

    reserved: Mapping[Lane, int]
    shared: int
    flow_limit: Mapping[Lane, int]

    @classmethod
    def of(cls, short: int, bulk: int) -> "Capacity":
        """Divide a worker's slots: `short` is for safety and interactive work together, `bulk` for bulk work. One tenant's long
        work takes at most half of the bulk slots: short work gives its slots back soon, long work does not.
        """
        own = short // RESERVED_PART
        reserved = {Lane.SAFETY: own, Lane.INTERACTIVE: own, Lane.BULK: bulk}
        return cls(reserved, short - 2 * own, {Lane.BULK: (bulk + 1) // 2})

    def free(self, running: Mapping[Lane, int]) -> dict[Lane, int]:
        """Return the number of rows that each lane could take now, if no other lane took any."""
        lent = sum(max(0, running.get(lane, 0) - self.reserved[lane]) for lane in SHORT)
        shared = max(0, self.shared - lent)
        return {
            lane: max(0, own - running.get(lane, 0)) + (shared if lane in SHORT else 0)
            for lane, own in self.reserved.items()
        }


@dataclass(frozen=True, slots=True)
class DueRow:
    """A work row that is due and not leased."""

    id: str
    lane: Lane
    flow: str
    run_at: datetime

    def __post_init__(self) -> None:
        """Accept the number by which the database stores a lane."""
        object.__setattr__(self, "lane", Lane(self.lane))


def per_lane(running: Mapping[tuple[Lane, str], int]) -> Counter[Lane]:
    counted: Counter[Lane] = Counter()
    for (lane, _), number in running.items():
        counted[lane] += number
    return counted


def choose(
    waiting: Iterable[DueRow],
    running: Mapping[tuple[Lane, str], int],
    capacity: Capacity,
    last_turns: Mapping[tuple[Lane, str], int] = NO_TURNS,
) -> dict[Lane, list[DueRow]]:
    """Choose what runs next, lane by lane. In a lane the flow that runs least goes first; of two such flows, the one whose
    last turn (a number that grows) is longer ago; of a flow, its oldest row.
    """
    busy, lanes, turns = Counter(running), per_lane(running), Counter(last_turns)
    newest = max(turns.values(), default=0)
    queues: dict[Lane, dict[str, list[DueRow]]] = {lane: {} for lane in Lane}
    for row in sorted(waiting, key=lambda row: (row.run_at, row.id), reverse=True):
        queues[row.lane].setdefault(row.flow, []).append(row)  # the oldest at the end
    chosen: dict[Lane, list[DueRow]] = {}
    for lane in Lane:
        for _ in range(capacity.free(lanes)[lane]):
            turn = _next_row(queues[lane], lane, capacity, busy, turns)
            if turn is None:
                break
            newest += 1
            turns[lane, turn.flow] = newest
            busy[lane, turn.flow] += 1
            lanes[lane] += 1
            chosen.setdefault(lane, []).append(turn)
    return chosen


def _next_row(
    queues: Mapping[str, list[DueRow]],
    lane: Lane,
    capacity: Capacity,
    busy: Counter[tuple[Lane, str]],
    turns: Counter[tuple[Lane, str]],
) -> DueRow | None:
    most = capacity.flow_limit.get(lane)
    able = [flow for flow, rows in queues.items() if rows and (most is None or not flow or busy[lane, flow] < most)]
    if not able:
        return None
    turn = min(able, key=lambda flow: (busy[lane, flow], turns[lane, flow], queues[flow][-1].run_at, flow))
    return queues[turn].pop()


def lanes_without_slot(waiting: Sequence[DueRow], chosen: Mapping[Lane, Sequence[DueRow]]) -> set[Lane]:
    """Return the lanes in which a due row finds no slot."""
    taken = {row.id for rows in chosen.values() for row in rows}
    return {row.lane for row in waiting if row.id not in taken}
