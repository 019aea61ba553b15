"""Planned maintenance and drains, with a worker of their own and simulated agents: announced, begun in time, and ended."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_sdk import GpuaasError, NewAllocation
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer


@pytest.fixture(scope="module")
def own_server() -> Iterator[RunningServer]:
    with RunningServer.start(login_rate_per_minute="100000") as running:
        yield running


def test_maintenance_begins_by_itself_keeps_new_allocations_away_and_is_ended(own_server: RunningServer) -> None:
    place = Sandbox.create(own_server)
    place.offer()
    with place.simulated_fleet(1, first_index=700) as (node,):
        (allocation,) = place.admin.allocations.create(place.project_id, NewAllocation(sku="h100-slice", gpu_count=1))
        list(place.admin.allocations.follow(place.project_id, [allocation.id], 60))
        now = datetime.now(UTC)
        operator = place.admin.maintenance_windows
        window = operator.plan(node.id, now + timedelta(seconds=2), now + timedelta(hours=1), "kernel update")
        place.admin.wait_for(lambda: place.admin.nodes.show(node.id).cordoned, 60, "the begin of the maintenance")
        shown = place.person("project_member").allocations.show(place.project_id, allocation.id)
        assert (shown.state, shown.health) == ("active", "degraded")
        (reason,) = shown.health_reasons
        assert (reason.code, reason.until) == ("maintenance_active", window.ends_at)
        with pytest.raises(GpuaasError) as nowhere:
            place.admin.allocations.create(place.project_id, NewAllocation(sku="h100-slice", gpu_count=1))
        assert nowhere.value.code == "no_capacity"
        assert operator.end(window.id).state == "ended"
        assert place.admin.nodes.show(node.id).schedulable
        assert place.admin.allocations.show(place.project_id, allocation.id).health == "healthy"
        told = [event.type for event in place.admin.events.tail(place.project_id, 50).items]
        wanted = [f"allocation.host_maintenance_{kind}" for kind in ("planned", "started", "ended")]
        assert [kind for kind in told if ".host_" in kind] == wanted


def test_a_planned_drain_begins_although_the_platform_was_killed_before(own_server: RunningServer) -> None:
    place = Sandbox.create(own_server)
    place.offer()
    with place.simulated_fleet(1, first_index=710) as (node,):
        (allocation,) = place.admin.allocations.create(place.project_id, NewAllocation(sku="h100-slice", gpu_count=1))
        list(place.admin.allocations.follow(place.project_id, [allocation.id], 60))
        begins = datetime.now(UTC) + timedelta(seconds=5)
        planned = place.admin.nodes.drain(node.id, "kernel update", starts_at=begins)
        assert (planned.drain_at, planned.draining, planned.cordoned) == (begins, False, True)
        os.kill(own_server.process.pid, signal.SIGKILL)
        own_server.process.wait(60)
        own_server.restart()
        place.admin.wait_for(lambda: place.admin.nodes.show(node.id).drained, 120, "the end of the drain")
        assert place.admin.allocations.show(place.project_id, allocation.id).state == "released"
        told = [event.type for event in place.admin.events.tail(place.project_id, 50).items]
        wanted = ["allocation.host_drain_planned", "allocation.host_draining"]
        assert [kind for kind in told if ".host_" in kind] == wanted
