"""A host that falls silent, over HTTP with simulated agents: its project sees it, and gets off it without waiting."""

from collections.abc import Callable, Iterator

import pytest

from gpuaas_sdk import Allocation, GpuaasError, NewAllocation
from gpuaas_sdk.testing import Sandbox
from gpuaas_sdk.testing.agents import SimulatedAgents
from system_support.server import RunningServer

PATIENT = "3600"  # far beyond any test: what ends, ends without waiting for it


@pytest.fixture(scope="module")
def quick_server() -> Iterator[RunningServer]:
    settings = {"node_lost_seconds": "5", "release_deadline_seconds": PATIENT, "login_rate_per_minute": "100000"}
    with RunningServer.start(**settings) as running:
        yield running


@pytest.fixture
def place(quick_server: RunningServer) -> Sandbox:
    made = Sandbox.create(quick_server)
    made.offer()
    return made


def shown_when(place: Sandbox, allocation: Allocation, true: Callable[[Allocation], bool], what: str) -> Allocation:
    def look() -> Allocation | None:
        found = place.admin.allocations.show(place.project_id, allocation.id)
        return found if true(found) else None

    return place.admin.wait_for(look, 60, what)


def active(place: Sandbox, sku: str = "h100-node") -> Allocation:
    (made,) = place.admin.allocations.create(place.project_id, NewAllocation(sku=sku, name="trainer"))
    return list(place.admin.allocations.follow(place.project_id, [made.id], 60))[-1]


def lose(place: Sandbox, agents: SimulatedAgents, allocation: Allocation) -> Allocation:
    agents.kill()
    return shown_when(place, allocation, lambda one: one.health == "unhealthy", "the loss of the host")


def test_a_released_allocation_of_a_lost_host_ends_at_once_and_is_wiped_when_the_host_is_back(place: Sandbox) -> None:
    with place.simulated_agents(1, first_index=600) as (nodes, agents):
        allocation = active(place)
        assert allocation.health == "healthy"
        lost = lose(place, agents, allocation)
        assert (lost.state, [reason.code for reason in lost.health_reasons]) == ("active", ["host_lost"])
        assert list(lost.health_reasons[0].choices) == ["wait", "release", "replace"]
        place.person("project_member").allocations.release(place.project_id, allocation.id)
        blocked = list(place.admin.allocations.follow(place.project_id, [allocation.id], 60))[-1]
        assert blocked.failure is not None
        assert (blocked.state, blocked.failure.code, blocked.ssh) == ("release_failed", "host_lost", None)
        slots = place.admin.slots.list(nodes[0].id)
        assert {(slot.status, slot.status_reason) for slot in slots} == {("cleanup_blocked", "host_lost")}
        assert place.admin.quotas.project(place.project_id).gpus_used == 0
        agents.start()
        ended = shown_when(place, allocation, lambda one: one.state == "released", "the end of the release")
        assert ended.wipe_verified is True
        assert {slot.status for slot in place.admin.slots.list(nodes[0].id)} == {"available"}
        told = [event.type for event in place.admin.events.tail(place.project_id, 50).items]
        wanted = ["allocation.active", "allocation.host_lost", "allocation.releasing", "allocation.release_failed"]
        assert told[-6:] == [*wanted, "allocation.releasing", "allocation.released"]


def test_a_lost_host_that_comes_back_by_itself_keeps_its_allocation(place: Sandbox) -> None:
    with place.simulated_agents(1, first_index=610) as (_, agents):
        allocation = active(place)
        lose(place, agents, allocation)
        agents.start()
        back = shown_when(place, allocation, lambda one: one.health == "healthy", "the return of the host")
        assert (back.state, list(back.health_reasons)) == ("active", [])
        told = [event.type for event in place.admin.events.tail(place.project_id, 50).items]
        assert told[-2:] == ["allocation.host_lost", "allocation.host_back"]


def test_an_allocation_is_replaced_elsewhere_within_the_same_quota(place: Sandbox) -> None:
    with (
        place.simulated_agents(1, first_index=620) as (_, agents),
        place.simulated_fleet(1, first_index=630) as others,
    ):
        place.admin.nodes.cordon(others[0].id, "not yet")
        allocation = active(place)
        place.admin.quotas.set_project(place.project_id, 8)
        lose(place, agents, allocation)
        with pytest.raises(GpuaasError) as nowhere:
            place.admin.allocations.replace(place.project_id, allocation.id)
        assert nowhere.value.code == "no_capacity"
        assert place.admin.allocations.show(place.project_id, allocation.id).state == "active"
        place.admin.nodes.uncordon(others[0].id)
        made = place.person("project_member").allocations.replace(
            place.project_id, allocation.id, reason="host is dead"
        )
        assert (made.node_id, made.name, made.sku_name) == (others[0].id, "trainer", "h100-node")
        ended = {a.id: a for a in place.admin.allocations.follow(place.project_id, [made.id, allocation.id], 60)}
        assert (ended[made.id].state, ended[allocation.id].state) == ("active", "release_failed")
        assert place.admin.quotas.project(place.project_id).gpus_used == 8
