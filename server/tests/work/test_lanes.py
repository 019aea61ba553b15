"""Lanes: reserved slots, shared slots, and turns between tenants, from a snapshot alone."""

import ast
import inspect
import re
import textwrap
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.kernel.context import Platform
from gpuaas_server.processes.worker import build_worker
from gpuaas_server.work.lanes import LANE_OF_KIND, SHORT, Capacity, DueRow, Lane, choose, lanes_without_slot, per_lane

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CAPACITY = Capacity.of(10, 2)
PAGE = Path(__file__).parents[3] / "docs/explanation/fairness.md"


def row(number: int, lane: Lane, flow: str, seconds: int = 0) -> DueRow:
    return DueRow(f"w{number}", lane, flow, NOON - timedelta(seconds=seconds))


lanes_ = st.sampled_from(list(Lane))
flows = st.sampled_from(["", "a", "b", "c"])
rows = st.lists(st.tuples(lanes_, flows, st.integers(0, 100)), max_size=60).map(
    lambda drawn: [row(number, *one) for number, one in enumerate(drawn)]
)
sizes = st.builds(Capacity.of, st.integers(1, 20), st.integers(1, 6))


@st.composite
def running_of(draw: st.DrawFn, capacity: Capacity) -> Counter[tuple[Lane, str]]:
    """What may be running: it came about by choosing before."""
    chosen = choose(draw(rows), Counter(), capacity)
    return Counter((one.lane, one.flow) for some in chosen.values() for one in some)


@given(st.data(), sizes, rows)
def test_no_lane_takes_more_than_its_own_and_the_shared_slots(
    data: st.DataObject, capacity: Capacity, waiting: list[DueRow]
) -> None:
    running = data.draw(running_of(capacity))
    chosen = choose(waiting, running, capacity)
    after = per_lane(running) + Counter({lane: len(some) for lane, some in chosen.items()})
    assert sum(max(0, after[lane] - capacity.reserved[lane]) for lane in SHORT) <= capacity.shared
    assert after[Lane.BULK] <= capacity.reserved[Lane.BULK]
    assert len({one.id for some in chosen.values() for one in some}) == sum(map(len, chosen.values()))


@given(st.data(), sizes, rows)
def test_a_reserved_slot_is_never_idle_while_its_lane_waits(
    data: st.DataObject, capacity: Capacity, waiting: list[DueRow]
) -> None:
    running = data.draw(running_of(capacity))
    chosen = choose(waiting, running, capacity)
    after = per_lane(running) + Counter({lane: len(some) for lane, some in chosen.items()})
    for lane in SHORT & lanes_without_slot(waiting, chosen):
        assert after[lane] >= capacity.reserved[lane]


@given(st.data(), sizes, rows)
def test_no_tenant_takes_a_slot_while_another_with_fewer_waits(
    data: st.DataObject, capacity: Capacity, waiting: list[DueRow]
) -> None:
    running = data.draw(running_of(capacity))
    chosen = choose(waiting, running, capacity)
    taken = {one.id for some in chosen.values() for one in some}
    busy = running + Counter((one.lane, one.flow) for some in chosen.values() for one in some)
    for lane, some in chosen.items():
        for other in {one.flow for one in waiting if one.lane is lane and one.id not in taken}:
            limit = capacity.flow_limit.get(lane)
            if other and limit is not None and busy[lane, other] >= limit:
                continue
            for winner in {one.flow for one in some} - {other}:
                assert busy[lane, winner] <= busy[lane, other] + 1


def test_images_of_one_tenant_leave_slots_for_everything_else() -> None:
    images = [row(number, Lane.BULK, "a") for number in range(50)]
    chosen = choose(images, Counter(), CAPACITY)
    running = Counter((one.lane, one.flow) for some in chosen.values() for one in some)
    assert running == {(Lane.BULK, "a"): 1}
    later = choose([row(90, Lane.BULK, "b"), row(91, Lane.SAFETY, "")], running, CAPACITY)
    assert {lane: [one.id for one in some] for lane, some in later.items()} == {
        Lane.SAFETY: ["w91"],
        Lane.BULK: ["w90"],
    }


def test_releases_of_one_tenant_leave_interactive_slots() -> None:
    releases = [row(number, Lane.SAFETY, "a") for number in range(50)]
    chosen = choose([*releases, row(90, Lane.INTERACTIVE, "b")], Counter(), CAPACITY)
    assert len(chosen[Lane.SAFETY]) == 8
    assert [one.id for one in chosen[Lane.INTERACTIVE]] == ["w90"]


async def test_every_kind_of_work_has_a_lane_and_a_worker_step(platform: Platform) -> None:
    assert set(build_worker(platform)._steps) == set(LANE_OF_KIND)


async def test_a_worker_step_is_found_by_its_name_and_its_module(platform: Platform) -> None:
    for step in map(type, build_worker(platform)._steps.values()):
        decides = hasattr(step, "decide")
        assert step.__name__.endswith("Reconciler" if decides else "Job"), step
        assert step.__module__.rsplit(".", 1)[-1] == ("reconciler" if decides else "jobs"), step


async def test_a_reconciler_decides_by_what_it_is_given(platform: Platform) -> None:
    """What has nothing to decide is a job."""
    reconcilers = [one for one in map(type, build_worker(platform)._steps.values()) if hasattr(one, "decide")]
    for one in reconcilers:
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(one.decide))).body
        assert isinstance(function, ast.FunctionDef)
        given = {argument.arg for argument in function.args.args} - {"self"}
        passed_on = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and node not in passed_on}
        assert given & used, one


def test_the_page_says_what_the_table_says() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE))
    assert told == {kind: lane.name.lower() for kind, lane in LANE_OF_KIND.items()}
