"""A real host without power: its project sees it, the release ends at once, and the host is wiped when it is back."""

import pytest

from gpuaas_sdk import Allocation, NewAllocation
from system_support.lab_site import lab_site

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


def test_a_host_that_lost_power_is_released_at_once_and_wiped_when_it_is_back() -> None:
    with lab_site("lost", 1, node_lost_seconds="5", release_deadline_seconds="3600") as (sandbox, fleet):
        admin, project = sandbox.admin, sandbox.project_id
        (allocation,) = admin.allocations.create(project, NewAllocation(sku="h100-node"))
        assert list(admin.allocations.follow(project, [allocation.id], 120))[-1].state == "active"
        fleet.hosts[0].power_cut()

        def lost() -> Allocation | None:
            found = admin.allocations.show(project, allocation.id)
            return found if found.health == "unhealthy" else None

        assert [reason.code for reason in admin.wait_for(lost, 120, "the loss of the host").health_reasons] == [
            "host_lost"
        ]
        admin.allocations.release(project, allocation.id)
        blocked = list(admin.allocations.follow(project, [allocation.id], 120))[-1]
        assert blocked.failure is not None
        assert (blocked.state, blocked.failure.code) == ("release_failed", "host_lost")
        assert {slot.status_reason for slot in admin.slots.list(allocation.node_id)} == {"host_lost"}
        fleet.hosts[0].power_on()

        def released() -> Allocation | None:
            found = admin.allocations.show(project, allocation.id)
            return found if found.state == "released" else None

        assert admin.wait_for(released, 240, "the wipe of the host").wipe_verified is True
        assert {slot.status for slot in admin.slots.list(allocation.node_id)} == {"available"}
