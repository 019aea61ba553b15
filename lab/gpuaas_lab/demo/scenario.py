"""The platform's main job, step by step, through the public API and the `gpuaas` command; see `steps/`."""

from dataclasses import dataclass, replace

from gpuaas_lab.demo.app import App
from gpuaas_lab.demo.context import DemoContext
from gpuaas_lab.demo.operation_follower import OperationFollower
from gpuaas_lab.demo.steps import allocations, audit_trail, cluster, jobs, notebook, offer, teardown
from gpuaas_lab.demo.steps.allocations import DemoAllocations
from gpuaas_lab.demo.steps.cluster import Cluster


@dataclass(frozen=True)
class Scenario:
    """`app` is None on a simulated fleet, where nothing can be installed."""

    context: DemoContext
    app: App | None

    def run(self) -> None:
        """Go from allocations to a cluster, and back to hosts that are proven clean."""
        allocated = allocations.allocate(self.context)
        if self.app is not None:
            allocations.log_in(self.context, allocated)
            made = self._cluster(allocated)
            jobs.run(self.context, made)
            teardown.remove_worker(self.context, made)
            teardown.decommission(self.context, made)
            allocated = self._notebook(allocated)
        allocations.release_all(self.context, allocated)
        if self.app is not None:
            allocations.check_nothing_left(self.context, allocated)
        audit_trail.show_audit_trail(self.context)

    def _notebook(self, allocated: DemoAllocations) -> DemoAllocations:
        """Launch another app on a third host, and stop it. Its allocation is released with the others."""
        follower = OperationFollower(self.context)
        launched = notebook.launch(self.context, follower)
        notebook.compute(self.context, launched)
        notebook.stop(self.context, launched, follower)
        return replace(allocated, notebook=launched.allocation)

    def start_cluster(self) -> Cluster | None:
        """Stop at a running cluster, for further use by hand."""
        if self.app is None:
            return None
        return self._cluster(allocations.allocate(self.context, with_slice=False))

    def _cluster(self, allocated: DemoAllocations) -> Cluster:
        offer.await_offer(self.context)
        made = cluster.deploy(self.context, allocated, OperationFollower(self.context))
        cluster.add_worker(self.context, made)
        return made
