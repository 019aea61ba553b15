"""Deploys a cluster on one host, adds a worker on a second, and shows each step of both operations."""

from dataclasses import dataclass

from gpuaas_lab.demo.app import SLUG
from gpuaas_lab.demo.context import DemoContext
from gpuaas_lab.demo.operation_follower import OperationFollower
from gpuaas_lab.demo.steps.allocations import DemoAllocations
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Instance, InstanceMember, NewInstance, NewMemberOperation, Operation, Placement

NAME = "demo"


@dataclass(frozen=True)
class Cluster:
    instance_id: str
    allocations: DemoAllocations
    follower: OperationFollower

    def now(self, context: DemoContext) -> Instance:
        return context.customer.instances.show(context.project_id, self.instance_id)

    def workers(self) -> list[InstanceMember]:
        return [one for one in self.follower.members(self.instance_id) if one.component_key == "worker"]

    def change(self, context: DemoContext, kind: str, *members: InstanceMember) -> Operation:
        request = NewMemberOperation(kind=kind, targets=[one.id for one in members])
        return self.follower.wait_for_success(
            context.customer.instances.change_members(context.project_id, self.instance_id, request)
        )


def deploy(context: DemoContext, allocations: DemoAllocations, follower: OperationFollower) -> Cluster:
    with context.report.step("Deploy Slurm on the first host") as step:
        places = [Placement(component_key=key, allocation_id=allocations.head.id) for key in ("controller", "worker")]
        new = NewInstance(app=SLUG, name=NAME, placement_intent=places)
        started = context.customer.instances.create(context.project_id, new)
        follower.wait_for_success(started.operation)
        cluster = Cluster(started.instance.id, allocations, follower)
        instance = cluster.now(context)
        if instance.status != "running":
            raise LabError(f"the cluster is {instance.status}")
        runtime = instance.runtime or {}
        step.detail = (
            f"{instance.status}, {instance.health}; app {runtime.get('app_version')}, Slurm {runtime.get('slurm_version')},"
            f" packages {runtime.get('package_version')}; a login user's job has run"
        )
    return cluster


def add_worker(context: DemoContext, cluster: Cluster) -> None:
    with context.report.step("Add a worker on the second host") as step:
        request = NewMemberOperation(kind="add", component_key="worker", allocation_ids=[cluster.allocations.more.id])
        cluster.follower.wait_for_success(
            context.customer.instances.change_members(context.project_id, cluster.instance_id, request)
        )
        workers = cluster.workers()
        if [one.status for one in workers] != ["ready", "ready"]:
            raise LabError(f"the workers are {[one.status for one in workers]}")
        step.detail = "two workers are ready"
