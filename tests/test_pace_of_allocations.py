"""Many allocations in one request are many changes: one tenant cannot have the whole platform at work by asking in bulk."""

import pytest

from gpuaas_sdk import GpuaasError, NewAllocation
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer


def test_each_allocation_of_a_request_counts_for_the_pace_of_its_tenant() -> None:
    with RunningServer.start(tenant_changes_per_second="0.001", tenant_change_burst="4") as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        with sandbox.simulated_fleet(1):
            member = sandbox.person("project_member")
            four = NewAllocation(sku="h100-slice", gpu_count=1, count=4)
            assert len(member.allocations.create(sandbox.project_id, four)) == 4
            with pytest.raises(GpuaasError) as refused:
                member.allocations.create(sandbox.project_id, NewAllocation(sku="h100-slice", gpu_count=1))
            assert refused.value.code == "rate_limited"
