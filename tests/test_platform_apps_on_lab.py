"""A person launches an app on a real host, and nobody has started a controller: the platform provides it by itself."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest

from gpuaas_lab import Fleet
from gpuaas_sdk import NewAllocation, NewInstance, NotFound, Placement
from gpuaas_sdk.testing import Sandbox
from system_support.echo_lab import HUB, says
from system_support.lab_site import lab_site

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SETTLE = 180.0


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Sandbox, Fleet]]:
    with lab_site("provided", 1, platform_apps="echo") as made:
        yield made


def controller_of(sandbox: Sandbox) -> int:
    """The process of echo's controller, as the server's log names it last."""
    started = [
        line for line in sandbox.server.log_file.read_text().splitlines() if "Controller of echo started" in line
    ]
    return int(started[-1].rsplit(" ", 1)[1])


def test_launch_works_out_of_the_box_and_survives_the_controllers_death(site: tuple[Sandbox, Fleet]) -> None:
    sandbox, fleet = site
    member = sandbox.person("project_member")
    project = sandbox.project_id
    (place,) = member.allocations.create(project, NewAllocation(sku="h100-node"))
    *_, active = member.allocations.follow(project, [place.id], SETTLE)
    assert active.state == "active"

    def is_served() -> bool:
        with suppress(NotFound):
            entry = member.catalog.show(project, "echo")
            return entry.controller.state == "live" and "instance_create" in entry.allowed_actions
        return False

    member.wait_for(is_served, SETTLE, "echo to be served")
    where = [Placement(component_key="hub", allocation_id=place.id)]
    started = member.instances.create(project, NewInstance(app="echo", name="first", placement_intent=where))
    os.kill(controller_of(sandbox), signal.SIGKILL)  # perhaps it has claimed the operation, perhaps not
    *_, done = member.operations.follow(project, started.operation.id, SETTLE)
    assert done.status == "succeeded", (done.failure, done.steps)
    assert says(fleet.hosts[0].address, HUB, "ping") == "hello ping"
    gone = member.instances.operate(project, started.instance.id, "decommission")
    *_, ended = member.operations.follow(project, gone.operation.id, SETTLE)
    assert ended.status == "succeeded", ended.failure
    assert [one.status for one in member.receipts.list(project, operation_id=ended.id)] == ["clean"]
    trail = [one.action for one in sandbox.admin.audit.list(tenant_id=sandbox.tenant_id)]
    assert {"controller_consent_give", "operation_claim"} <= set(trail)
