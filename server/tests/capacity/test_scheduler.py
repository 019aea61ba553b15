"""The scheduler as a pure function: preferences, packing, determinism, refusals."""

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.capacity.scheduler import (
    FreeSlot,
    NodeOffer,
    Shortage,
    choose_slots,
    place,
    rank,
    refusal,
    refusal_detail,
)


def node(name: str, indexes: list[int]) -> NodeOffer:
    """Eight GPUs: 0-3 in NVLink group a on NUMA node 0, 4-7 in group b on NUMA node 1."""
    return NodeOffer(name, tuple(FreeSlot(f"{name}-{i}", i, "a" if i < 4 else "b", 0 if i < 4 else 1) for i in indexes))


def indexes(slots: tuple[FreeSlot, ...]) -> list[int]:
    return [slot.slot_index for slot in slots]


def test_the_tightest_node_is_preferred() -> None:
    placed = place([node("n1", list(range(8))), node("n2", [0, 1])], size=2, count=1)
    assert placed is not None
    assert placed[0].node_id == "n2"


def test_among_equally_tight_nodes_one_nvlink_group_wins_over_the_lower_id() -> None:
    placed = place([node("n1", [0, 4]), node("n2", [4, 5])], size=2, count=1)
    assert placed is not None
    assert placed[0].node_id == "n2"


def test_among_equals_the_lowest_id_wins() -> None:
    placed = place([node("n2", [0, 1]), node("n1", [0, 1])], size=2, count=1)
    assert placed is not None
    assert placed[0].node_id == "n1"


def test_the_smaller_group_is_used_first_so_that_the_larger_stays_whole() -> None:
    assert indexes(choose_slots(node("n", [0, 1, 2, 3, 4, 5]).free, 2)) == [4, 5]


def test_without_nvlink_one_numa_node_is_preferred() -> None:
    free = tuple(FreeSlot(str(i), i, None, i % 2) for i in range(4))
    assert indexes(choose_slots(free, 2)) == [0, 2]


def test_a_request_larger_than_a_group_takes_the_fuller_group_first() -> None:
    assert indexes(choose_slots(node("n", [0, 4, 5, 6, 7]).free, 5)) == [0, 4, 5, 6, 7]
    assert indexes(choose_slots(node("n", [0, 1, 4, 5, 6]).free, 4)) == [0, 4, 5, 6]


def test_a_bulk_fills_one_node_before_it_opens_the_next() -> None:
    placed = place([node("n1", list(range(8))), node("n2", list(range(8)))], size=2, count=5)
    assert placed is not None
    assert [p.node_id for p in placed] == ["n1"] * 4 + ["n2"]


def test_a_bulk_that_does_not_fit_whole_is_refused_whole() -> None:
    assert place([node("n1", [0, 1, 2])], size=2, count=2) is None


def test_refusals_tell_the_reasons_apart() -> None:
    assert refusal(Shortage(wanted=4, free=4, blocked=0)) == "capacity_fragmented"
    assert refusal(Shortage(wanted=4, free=2, blocked=2)) == "capacity_blocked"
    assert refusal(Shortage(wanted=4, free=2, blocked=1)) == "no_capacity"


def test_what_is_being_cleaned_is_not_blocked_but_worth_waiting_for() -> None:
    waiting = Shortage(wanted=4, free=2, blocked=2, cleaning=3)
    assert (refusal(waiting), refusal_detail(waiting)) == (
        "no_capacity",
        "3 GPUs are being cleaned; try again in a minute.",
    )
    assert refusal_detail(Shortage(4, 0, 0, cleaning=4)).startswith("At least 4 GPUs are")
    assert refusal_detail(Shortage(4, 0, 0, cleaning=1)).startswith("1 GPU is")
    blocked = Shortage(wanted=4, free=2, blocked=2, cleaning=1)
    assert (refusal(blocked), refusal_detail(blocked)) == ("capacity_blocked", "")
    assert refusal_detail(Shortage(4, 0, 0)) == ""


fleets = st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=6).map(
    lambda sets: [node(f"n{i}", sorted(s)) for i, s in enumerate(sets)]
)


@given(fleets, st.integers(1, 8), st.integers(1, 6), st.randoms())
def test_placements_are_free_slots_of_one_node_used_once_whatever_the_order_of_offers(
    offers: list[NodeOffer], size: int, count: int, chance: "object"
) -> None:
    placed = place(offers, size, count)
    shuffled = list(offers)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert place(shuffled, size, count) == placed
    capacity = sum(len(offer.free) // size for offer in offers)
    assert (placed is not None) == (capacity >= count)
    if placed is not None:
        taken = [slot.id for p in placed for slot in p.slots]
        assert len(taken) == len(set(taken)) == size * count
        free = {offer.node_id: {slot.id for slot in offer.free} for offer in offers}
        assert all({slot.id for slot in p.slots} <= free[p.node_id] for p in placed)


@given(fleets, st.integers(1, 8))
def test_one_placement_is_on_the_best_ranked_node(offers: list[NodeOffer], size: int) -> None:
    fitting = [offer for offer in offers if len(offer.free) >= size]
    placed = place(offers, size, 1)
    if fitting:
        assert placed is not None
        assert placed[0].node_id == min(fitting, key=lambda offer: rank(offer, size)).node_id
    else:
        assert placed is None
