"""The life of a deletion: what to do next, from a snapshot and the time alone.

    scheduled → purging → purged
        ↓
      undone

It can be undone until the purge begins. A place in which something appeared meanwhile is not purged: it waits.
"""

from datetime import datetime, timedelta
from enum import Enum

from gpuaas_server.kernel.dataclass import dataclass

# Which states may follow which; the property tests read this table.
TRANSITIONS: dict[str, frozenset[str]] = {
    "scheduled": frozenset({"undone", "purging"}),
    "purging": frozenset({"purged"}),
    "undone": frozenset(),
    "purged": frozenset(),
}
BLOCKED_PAUSE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that keeps a place from being deleted: what it is, how many there are, and some of them by id."""

    what: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Holds what a decision about a deletion needs to know."""

    state: str
    delete_after: datetime | None  # None: the place is gone, with its tenant
    leftovers: tuple[Leftover, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletionObstacle:
    """Names what a deletion waits for: leftovers, artifacts whose bytes are still there, or secrets in the external store."""

    what: str
    count: int
    detail: str


class Step(Enum):
    END = "end"  # there is nothing to do any more
    WAIT = "wait"
    BEGIN = "begin"  # from here on it cannot be undone
    PURGE = "purge"  # remove the next portion
    CLOSE = "close"  # the place went with its tenant


@dataclass(frozen=True, slots=True)
class Decision:
    """The next step of a deletion."""

    step: Step
    until: datetime | None = None  # of WAIT
    blocked: bool = False  # of WAIT: the date has come, and leftovers keep it from beginning


def decide(snapshot: Snapshot, now: datetime) -> Decision:
    if not TRANSITIONS[snapshot.state]:
        return Decision(Step.END)
    if snapshot.delete_after is None:
        return Decision(Step.CLOSE)
    if snapshot.state == "purging":
        return Decision(Step.PURGE)
    if now < snapshot.delete_after:
        return Decision(Step.WAIT, snapshot.delete_after)
    if snapshot.leftovers:
        return Decision(Step.WAIT, now + BLOCKED_PAUSE, blocked=True)
    return Decision(Step.BEGIN)


def can_undo(state: str) -> bool:
    return "undone" in TRANSITIONS[state]


def leftovers_obstacle(noun: str, leftovers: tuple[Leftover, ...]) -> DeletionObstacle:
    return DeletionObstacle("leftovers", sum(one.count for one in leftovers), describe(noun, leftovers))


def describe(noun: str, leftovers: tuple[Leftover, ...]) -> str:
    """Return the sentence that names what is still there."""
    parts = [f"{one.count} {one.what} ({_named(one)})" for one in leftovers]
    return f"The {noun} is not empty: {'; '.join(parts)}."


def _named(leftover: Leftover) -> str:
    more = leftover.count - len(leftover.examples)
    return ", ".join(leftover.examples) + (f" and {more} more" if more > 0 else "")
