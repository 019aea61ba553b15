"""Chooses GPUs: a pure, deterministic function of the free slots. It uses no clock, no database, no random number.

Order of preference: the tightest fit, then GPUs in one NVLink group, then in one NUMA node, then the lowest node id.
`node_fits` in the database keeps nodes in exactly this order; a property test compares the two.
"""

import heapq
from collections.abc import Iterable, Sequence

from gpuaas_server.kernel.dataclass import dataclass

ONE_NVLINK_GROUP, ONE_NUMA_NODE, ACROSS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class FreeSlot:
    """A slot that can be claimed."""

    id: str
    slot_index: int
    nvlink_group: str | None
    numa_node: int | None


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """A node as the scheduler sees it: its free slots of one GPU model."""

    node_id: str
    free: tuple[FreeSlot, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """The slots of one node for one allocation."""

    node_id: str
    slots: tuple[FreeSlot, ...]


@dataclass(frozen=True, slots=True)
class Requirements:
    """Lists what a node must have and be able to prove to be offered."""

    gpu_model: str
    shape: str
    wipe_grade: str  # the grade that the wipe will have to reach
    erased_drives: bool  # the SKU does not accept drives that nobody examined


@dataclass(frozen=True, slots=True)
class Shortage:
    """Holds what is known when nothing fits. Counts stop at what was requested: more would not change the answer."""

    wanted: int  # GPUs in all
    free: int  # free GPUs of the model anywhere
    blocked: int  # GPUs whose clean-up is not proven
    cleaning: int = 0  # GPUs that come back by themselves in a moment
    below_grade: bool = False  # hosts enough are free, if only they could prove the wipe that is required
    drives_kept: bool = False  # nodes enough are free, if only they erased their drives


def _groups(free: Iterable[FreeSlot], attribute: str) -> list[list[FreeSlot]]:
    groups: dict[object, list[FreeSlot]] = {}
    for slot in free:
        key = getattr(slot, attribute)
        if key is not None:
            groups.setdefault(key, []).append(slot)
    return [sorted(group, key=lambda slot: slot.slot_index) for group in groups.values()]


def _tightest(groups: list[list[FreeSlot]], size: int) -> list[FreeSlot] | None:
    """Return the smallest group that is large enough; among equals the one with the lowest slot."""
    fitting = [group for group in groups if len(group) >= size]
    return min(fitting, key=lambda group: (len(group), group[0].slot_index)) if fitting else None


def spread(free: Sequence[FreeSlot], size: int) -> int:
    if _tightest(_groups(free, "nvlink_group"), size) is not None:
        return ONE_NVLINK_GROUP
    return ONE_NUMA_NODE if _tightest(_groups(free, "numa_node"), size) is not None else ACROSS


def choose_slots(free: Sequence[FreeSlot], size: int) -> tuple[FreeSlot, ...]:
    """Return the slots to take on one node. Across groups, the fullest groups go first, so that few links are cut."""
    for attribute in ("nvlink_group", "numa_node"):
        group = _tightest(_groups(free, attribute), size)
        if group is not None:
            return tuple(group[:size])
    groups = sorted(_groups(free, "numa_node"), key=lambda group: (-len(group), group[0].slot_index))
    ordered = [slot for group in groups for slot in group]
    ordered += sorted((slot for slot in free if slot.numa_node is None), key=lambda slot: slot.slot_index)
    return tuple(sorted(ordered[:size], key=lambda slot: slot.slot_index))


def rank(offer: NodeOffer, size: int) -> tuple[int, int, str]:
    """Return the rank of a node; smaller is better."""
    return (len(offer.free) - size, spread(offer.free, size), offer.node_id)


def place(offers: Iterable[NodeOffer], size: int, count: int) -> list[Placement] | None:
    """Return `count` placements of `size` GPUs each, one after the other, each in the best place left; all or none."""
    queue = [(rank(offer, size), offer) for offer in offers if len(offer.free) >= size]
    heap = [(key, index, offer) for index, (key, offer) in enumerate(queue)]
    heapq.heapify(heap)
    placements: list[Placement] = []
    while heap and len(placements) < count:
        _, index, offer = heapq.heappop(heap)
        taken = choose_slots(offer.free, size)
        placements.append(Placement(offer.node_id, taken))
        gone = {slot.id for slot in taken}
        rest = NodeOffer(offer.node_id, tuple(slot for slot in offer.free if slot.id not in gone))
        if len(rest.free) >= size:
            heapq.heappush(heap, (rank(rest, size), index, rest))
    return placements if len(placements) == count else None


def refusal(shortage: Shortage) -> str:
    """Return the error code for the reason."""
    if shortage.below_grade:
        return "capacity_below_grade"
    if shortage.drives_kept:
        return "capacity_drives_not_erased"
    if shortage.free >= shortage.wanted:
        return "capacity_fragmented"
    if shortage.free + shortage.cleaning >= shortage.wanted:
        return "no_capacity"  # waiting is enough; no person has to act
    if shortage.free + shortage.blocked >= shortage.wanted:
        return "capacity_blocked"
    return "no_capacity"


def refusal_detail(shortage: Shortage) -> str:
    """Return a sentence with what the refusal's code does not say; empty if there is nothing to add."""
    if not shortage.cleaning or refusal(shortage) != "no_capacity":
        return ""
    count = f"{'At least ' if shortage.cleaning >= shortage.wanted else ''}{shortage.cleaning}"
    what = "GPU is" if shortage.cleaning == 1 else "GPUs are"
    return f"{count} {what} being cleaned; try again in a minute."
