"""Which operations a replica takes: every slot is used, and no tenant keeps another waiting."""

import random
from collections import Counter

import pytest

from gpuaas_sdk import WorkItem
from gpuaas_sdk.controller.slots import Slots


def waiting(**counts: int) -> list[WorkItem]:
    return [WorkItem(id=f"opr_{name}{n}", tenant_id=name) for name, count in counts.items() for n in range(count)]


def taken(slots: Slots, found: list[WorkItem], **claimed: int) -> dict[str, int]:
    return dict(Counter(one.tenant_id for one in slots.choose(found, claimed)))


@pytest.mark.parametrize("concurrency", [1, 4, 8, 32])
def test_one_tenant_alone_gets_every_slot(concurrency: int) -> None:
    slots = Slots(concurrency)
    assert taken(slots, waiting(a=100)) == {"a": concurrency}
    assert slots.tenants_refused({"a": concurrency}) == ["a"]
    assert slots.has_room({"a": concurrency})  # for others


def test_a_tenant_that_holds_nothing_is_served_though_another_holds_all_slots() -> None:
    slots = Slots(32)
    assert taken(slots, waiting(a=68, b=1), a=32) == {"b": 1}
    assert taken(slots, waiting(a=68, b=5), a=32) == {"b": 1}  # the rest waits for slots of anybody
    assert not slots.has_room({"a": 32, "b": 8})


def test_a_free_slot_goes_to_the_tenant_that_holds_the_fewest() -> None:
    slots = Slots(8)
    assert taken(slots, waiting(a=50, b=50)) == {"a": 4, "b": 4}
    assert taken(slots, waiting(a=50, b=50), a=7) == {"b": 1}
    assert taken(slots, waiting(a=50, b=2, c=1), a=3) == {"a": 2, "b": 2, "c": 1}


def test_the_oldest_operation_of_a_tenant_is_first_and_tenants_keep_the_order_of_the_list() -> None:
    chosen = Slots(4).choose(waiting(b=2, a=2), {})
    assert [one.id for one in chosen] == ["opr_b0", "opr_a0", "opr_b1", "opr_a1"]


def test_whatever_comes_no_slot_is_idle_and_nobody_is_passed_over() -> None:
    chance = random.Random(7)
    for _ in range(300):
        slots = Slots(chance.randint(1, 12))
        claimed = {name: chance.randint(0, 4) for name in "abcd"}
        found = waiting(**{name: chance.randint(0, 5) for name in "abcd"})
        chosen = slots.choose(found, claimed)
        after = Counter(claimed) + Counter(one.tenant_id for one in chosen)
        left = {one.tenant_id for one in found if one not in chosen}
        if left and after.total() < slots.concurrency:
            pytest.fail(f"{claimed} {found}: a slot is idle")
        assert len(chosen) <= max(0, slots.concurrency + slots.reserve - sum(claimed.values()))
        for tenant in {
            one.tenant_id for one in chosen
        }:  # who got one does not hold more than who still waits, but by one
            assert all(after[tenant] <= after[other] + 1 for other in left)
