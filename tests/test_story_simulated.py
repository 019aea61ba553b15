"""The main job over HTTP with simulated agents: allocate, become active, release, proven clean."""

import time

import pytest

from gpuaas_sdk import Allocation, GpuaasError, NewAllocation, NewSku
from gpuaas_sdk.testing.sandbox import MODEL, Sandbox


def settle(sandbox: Sandbox, allocation_ids: list[str], seconds: float = 60.0) -> dict[str, Allocation]:
    return {a.id: a for a in sandbox.admin.allocations.follow(sandbox.project_id, allocation_ids, seconds)}


def test_a_slice_and_a_whole_node_live_and_end(sandbox: Sandbox) -> None:
    with sandbox.simulated_fleet(2):
        member = sandbox.person("project_member")
        part = member.allocations.create(sandbox.project_id, NewAllocation(sku="h100-slice", gpu_count=2))[0]
        whole = member.allocations.create(sandbox.project_id, NewAllocation(sku="h100-node"))[0]
        live = settle(sandbox, [part.id, whole.id])
        assert {a.state for a in live.values()} == {"active"}
        assert live[part.id].node_id != live[whole.id].node_id
        for one in (part, whole):
            member.allocations.release(sandbox.project_id, one.id)
        ended = settle(sandbox, [part.id, whole.id])
        assert {a.state for a in ended.values()} == {"released"}, [a.failure for a in ended.values()]
        assert all(a.wipe_verified for a in ended.values())
        timeline = member.allocations.timeline(sandbox.project_id, part.id)
        states = [entry.name for entry in timeline.items if entry.kind == "state"]
        assert states == ["requested", "provisioning", "active", "releasing", "released"]
        assert {"provision", "deprovision", "wipe", "verify_wipe"} <= {e.name for e in timeline.items}


def test_a_whole_node_of_a_sku_that_names_no_grade_is_wiped_with_a_restart_and_used_again(sandbox: Sandbox) -> None:
    sku = NewSku(
        name="whole-by-default", shape="baremetal", gpu_model=MODEL, gpu_counts=[8], price_per_gpu_hour_minor=250
    )
    sandbox.admin.skus.create(sku)
    with sandbox.simulated_fleet(1, first_index=700) as nodes:
        assert nodes[0].wipe_grades == ["inspected", "rebooted"]
        for _ in range(2):  # the second lease is on a host that has been wiped
            made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku=sku.name))[0]
            assert settle(sandbox, [made.id])[made.id].state == "active"
            sandbox.admin.allocations.release(sandbox.project_id, made.id)
            ended = settle(sandbox, [made.id])[made.id]
            assert (ended.state, ended.wipe_grade, ended.wipe_not_examined) == ("released", "rebooted", []), (
                ended.failure
            )


def test_a_failing_host_makes_a_failed_allocation_that_is_cleaned_up(sandbox: Sandbox) -> None:
    with sandbox.simulated_fleet(1, "--fail-rate", "provision=1.0", first_index=100) as nodes:
        made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-node"))[0]
        failed = settle(sandbox, [made.id])[made.id]
        assert failed.state == "failed"
        assert failed.failure is not None
        assert failed.failure.code == "host_task_failed"
        assert failed.failure.next_step
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            slots = sandbox.admin.slots.list(nodes[0].id)
            if {slot.status for slot in slots} == {"available"}:
                return
            time.sleep(0.05)
        raise AssertionError(f"slots were not cleaned: {slots}")


def test_an_unproven_wipe_keeps_the_slots_out_of_the_pool_until_a_person_takes_responsibility(sandbox: Sandbox) -> None:
    with sandbox.simulated_fleet(1, "--fail-rate", "verify_wipe=1.0", first_index=200) as nodes:
        made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-node"))[0]
        settle(sandbox, [made.id])
        sandbox.admin.allocations.release(sandbox.project_id, made.id)
        blocked = settle(sandbox, [made.id])[made.id]
        assert blocked.state == "release_failed"
        assert "allocation_force_cleanup" in blocked.allowed_actions
        assert {slot.status for slot in sandbox.admin.slots.list(nodes[0].id)} == {"cleanup_blocked"}
        with pytest.raises(GpuaasError) as denied:
            sandbox.person("project_admin").allocations.force_cleanup(
                sandbox.project_id, made.id, "please", "I looked at the host myself"
            )
        assert denied.value.code == "forbidden"
        forced = sandbox.admin.allocations.force_cleanup(
            sandbox.project_id, made.id, "disk was replaced", "New NVMe installed by hand, serial checked"
        )
        assert (forced.state, forced.wipe_verified) == ("released", False)
        assert {slot.status for slot in sandbox.admin.slots.list(nodes[0].id)} == {"available"}


def test_a_released_allocation_is_found_again_by_its_correlation_id(sandbox: Sandbox) -> None:
    with sandbox.simulated_fleet(1, first_index=300):
        made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-node"))[0]
        settle(sandbox, [made.id])
        audit = list(sandbox.admin.audit.list(correlation_id=made.correlation_id))
        assert [record.action for record in audit] == ["allocation_create"]
        assert audit[0].resource_id == made.id
        sandbox.admin.allocations.release(sandbox.project_id, made.id)
        settle(sandbox, [made.id])
