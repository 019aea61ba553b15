"""A cluster comes into being: deployed on one host, grown to a second, while each step is seen."""

from dataclasses import dataclass

from gpuaas_lab.demo.app import SLUG
from gpuaas_lab.demo.cast import Cast
from gpuaas_lab.demo.following import Follower
from gpuaas_lab.demo.scenes.rooms import Rooms
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Instance, InstanceMember, NewInstance, NewMemberOperation, Operation, Placement

NAME = "demo"


@dataclass(frozen=True)
class Cluster:
    instance_id: str
    rooms: Rooms
    follower: Follower

    def now(self, cast: Cast) -> Instance:
        return cast.mia.instances.show(cast.project_id, self.instance_id)

    def workers(self) -> list[InstanceMember]:
        return [one for one in self.follower.members(self.instance_id) if one.component_key == "worker"]

    def change(self, cast: Cast, kind: str, *members: InstanceMember) -> Operation:
        wish = NewMemberOperation(kind=kind, targets=[one.id for one in members])
        return self.follower.succeeded(cast.mia.instances.change_members(cast.project_id, self.instance_id, wish))


def deployed(cast: Cast, rooms: Rooms, follower: Follower) -> Cluster:
    with cast.report.step("Deploy Slurm on the first host") as step:
        places = [Placement(component_key=key, allocation_id=rooms.head.id) for key in ("controller", "worker")]
        new = NewInstance(app=SLUG, name=NAME, placement_intent=places)
        started = cast.mia.instances.create(cast.project_id, new)
        follower.succeeded(started.operation)
        cluster = Cluster(started.instance.id, rooms, follower)
        instance = cluster.now(cast)
        if instance.status != "running":
            raise LabError(f"the cluster is {instance.status}")
        runtime = instance.runtime or {}
        step.detail = (
            f"{instance.status}, {instance.health}; app {runtime.get('app_version')}, Slurm {runtime.get('slurm_version')},"
            f" packages {runtime.get('package_version')}; a job of a login user has run"
        )
    return cluster


def grown(cast: Cast, cluster: Cluster) -> None:
    with cast.report.step("Add a worker on the second host") as step:
        wish = NewMemberOperation(kind="add", component_key="worker", allocation_ids=[cluster.rooms.more.id])
        cluster.follower.succeeded(cast.mia.instances.change_members(cast.project_id, cluster.instance_id, wish))
        workers = cluster.workers()
        if [one.status for one in workers] != ["ready", "ready"]:
            raise LabError(f"the workers are {[one.status for one in workers]}")
        step.detail = "two workers are ready"
