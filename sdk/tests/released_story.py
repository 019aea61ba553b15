"""A program that uses the SDK of an earlier release: allocation, instance, operation, controller, errors.

test_released.py starts it in a process whose `gpuaas_sdk` is the wheel of that release, with credentials on standard input.
"""

import json
import sys
from collections.abc import Mapping

import gpuaas_sdk as sdk

SETTLE = 60.0


def work_off(controller: sdk.Client, project: str, operation_id: str) -> None:
    """Works as a controller: polls, claims the operation, reports a step and completes it."""
    assert operation_id in [one.id for one in controller.controller.poll(project, wait=10)]
    claimed = controller.controller.claim(project, operation_id, "an-old-replica")
    renewed = controller.controller.report(
        project, operation_id, claimed.lease_token, steps=[{"name": "work", "status": "running"}]
    )
    assert renewed.lease_until is not None
    ready = [{"member_id": one.id, "status": "ready"} for one in claimed.members]
    members = ready if claimed.operation.kind == "deploy" else []
    controller.controller.complete(project, operation_id, claimed.lease_token, members=members)


def run_story(given: Mapping[str, str]) -> None:
    project, url = given["project_id"], given["url"]
    person = sdk.Client(url, credentials=sdk.PasswordCredentials(given["email"], given["password"]))
    controller = sdk.Client(url, credentials=sdk.ServiceAccountCredentials(given["client_id"], given["client_secret"]))
    log = person.events.end(project)

    [asked] = person.allocations.create(project, sdk.NewAllocation(sku="h100-slice", gpu_count=1))
    *_, active = person.allocations.follow(project, [asked.id], SETTLE)
    assert (active.state, active.settled) == ("active", True)
    assert asked.id in [one.id for one in person.allocations.list(project, state="active")]
    assert person.allocations.timeline(project, asked.id).items

    place = sdk.PlacementIntent(component_key="head", allocation_id=asked.id)
    controller.controller.poll(project)  # a controller that polls is there, and what it serves may be launched
    started = person.instances.create(project, sdk.NewInstance(app=given["app"], name="old", placement_intent=[place]))
    work_off(controller, project, started.operation.id)
    *_, deployed = person.operations.follow(project, started.operation.id, SETTLE)
    assert (deployed.status, [one.name for one in deployed.steps]) == ("succeeded", ["work"])
    instance = person.instances.show(project, started.instance.id)
    assert (instance.status, instance.placement_intent) == ("running", [place])
    assert [one.status for one in person.instances.members(project, instance.id)] == ["ready"]

    restart = person.instances.operate(project, instance.id, "restart", reason="to see it refused twice")
    try:
        person.instances.operate(project, instance.id, "stop")
    except sdk.Conflict as refusal:
        assert refusal.code == "operation_in_progress"
    else:
        raise AssertionError("a second operation was taken")
    assert person.operations.cancel(project, restart.operation.id, reason="changed my mind").status == "cancelled"

    gone = person.instances.operate(project, instance.id, "decommission")
    work_off(controller, project, gone.operation.id)
    *_, ended = person.operations.follow(project, gone.operation.id, SETTLE)
    assert ended.status == "succeeded", ended
    assert [one.verified for one in person.receipts.list(project, operation_id=ended.id)] == [True]

    person.allocations.release(project, asked.id, reason="the story ends")
    *_, released = person.allocations.follow(project, [asked.id], SETTLE)
    assert (released.state, released.wipe_verified) == ("released", True)
    happened = [one.type for one in person.events.list(project, after=log, subject=asked.id)]
    assert happened == [one.type for one in person.watch(project, subject=asked.id, after=log, deadline=1.0)]
    assert happened


if __name__ == "__main__":
    assert ".whl" in sdk.__file__, "the SDK of the release, not the one of this checkout"
    run_story(json.load(sys.stdin))
    print("done")
