"""Hosts that are off, or gone with their allocation, when a Slurm cluster is to let go of them: every state has an exit."""

from collections.abc import Iterator

import pytest

from gpuaas_lab import Host
from gpuaas_sdk import Allocation
from gpuaas_sdk.sync.wait import wait_for
from gpuaas_slurm.controller import Slurm
from gpuaas_slurm.layout import MUNGE_KEY
from system_support.echo_ground import at_work
from system_support.slurm_ground import Ground, slurm_ground, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SLURMD_LOG = "/var/log/gpuaas-slurm/slurmd.log"


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with slurm_ground("slurm-lost", 4) as made, at_work(Slurm(), made.controller()):
        yield made


@pytest.fixture(scope="module")
def cluster(ground: Ground) -> str:
    return ground.launched("lost", [0, 1, 2, 3], packages="host")


def back(ground: Ground, number: int) -> None:
    ground.hosts[number].power_on()
    ground.hosts[number].wait_ssh()


def test_a_worker_whose_host_is_off_is_forgotten_at_once_and_cleared_when_it_is_back(
    ground: Ground, cluster: str
) -> None:
    node = ground.node(cluster, 1)
    ground.hosts[1].power_cut()
    ground.fails(ground.change(cluster, "remove", 1), "host_unreachable")
    assert (node in ground.nodes(), ground.worker(cluster, 1).status) == (False, "failed")
    assert len(set(ground.as_user("srun", "-Q", "--input=none", "-N3", "hostname").split())) == 3
    back(ground, 1)
    removed = ground.succeeds(ground.change(cluster, "remove", 1))
    assert [(one.status, one.verified) for one in ground.receipts(removed)] == [("clean", True)]
    assert node not in ground.nodes()
    assert traces(ground.hosts[1]) == []


def test_a_worker_whose_allocation_is_released_leaves_the_cluster_first(ground: Ground, cluster: str) -> None:
    node, place = ground.node(cluster, 2), ground.places[2]
    waiting = ground.submitted("-w", node, "--begin=now+1hour")
    ground.world.admin.allocations.release(ground.project_id, place)
    ground.comes(lambda: all(one.allocation_id != place for one in ground.workers(cluster)), "its leaving")
    ended = ground.world.admin.operations.list(ground.project_id, instance_id=cluster).all()
    [left] = [one for one in ended if one.parameters.get("release_of") == [place]]
    assert (left.kind, ground.succeeds(left).status) == ("remove", "succeeded")
    assert node not in ground.nodes()
    assert left.progress is not None
    assert waiting in str(left.progress.message)  # nobody's job is stranded silently
    ground.hosts[0].run(["scancel", waiting])


def restart_worker(host: Host) -> None:
    """Its daemons, by hand, with an empty log."""
    units = ["gpuaas-slurm-munge.service", "gpuaas-slurm-worker.service"]
    host.run(["systemctl", "stop", *units])
    host.run(["truncate", "--size=0", SLURMD_LOG])
    host.run(["systemctl", "start", "--no-block", *units])


def test_a_worker_that_was_forced_out_opens_nothing_with_the_key_that_it_knew(ground: Ground, cluster: str) -> None:
    node, known = ground.node(cluster, 3), ground.key()
    ground.hosts[3].power_cut()
    failed = ground.fails(ground.change(cluster, "remove", 3), "host_unreachable")
    asked = ground.world.admin.operations
    asked.force(ground.project_id, failed.id, "it burnt down")
    assert [one.allocation_id for one in ground.workers(cluster)] == [ground.places[0]]
    assert [one.verified for one in ground.receipts(failed)] == [False]
    assert ground.rotation_after(failed).status == "succeeded"
    back(ground, 3)
    assert (ground.key(3) == known, ground.key() == known) == (True, False)
    restart_worker(ground.hosts[3])
    ground.comes(lambda: "Unable to register" in ground.hosts[3].read_file(SLURMD_LOG), "the refusal")
    assert set(ground.nodes()) == {ground.node(cluster, 0)}
    # One that is there all the same, because somebody gave it the key of today, is forgotten by the next reconcile.
    (ground.hosts[3].upper / MUNGE_KEY.lstrip("/")).write_bytes(ground.key())
    restart_worker(ground.hosts[3])
    ground.comes(lambda: node in ground.nodes(), "the node that nobody wants")
    ground.verb(cluster, "reconcile")
    assert set(ground.nodes()) == {ground.node(cluster, 0)}


def test_a_cluster_whose_controller_is_off_is_cleared_elsewhere_and_goes_when_it_is_back(
    ground: Ground, cluster: str
) -> None:
    ground.torn_down(cluster)
    instance = ground.launched("headless", [1], packages="host")
    ground.hosts[0].power_cut()
    failed = ground.fails(ground.operate(instance, "decommission"), "host_unreachable")
    assert failed.failure is not None
    assert ground.hosts[0].address in failed.failure.message
    assert traces(ground.hosts[1]) == []  # what could be done was done
    back(ground, 0)
    ground.torn_down(instance)
    assert traces(ground.hosts[0]) == []


def test_a_cluster_whose_controllers_allocation_is_gone_is_unhealthy_and_its_workers_are_cleared(
    ground: Ground,
) -> None:
    instance = ground.launched("beheaded", [1], packages="host")
    place = ground.places[0]
    ground.world.admin.allocations.release(ground.project_id, place)

    def released() -> Allocation | None:
        seen = ground.world.admin.allocations.show(ground.project_id, place)
        return None if seen.state in ("active", "releasing") else seen

    ended = wait_for(released, 180.0, what="the release")
    assert (ended.state, ended.wipe_verified) == ("released", True), ended.failure
    ground.rests(instance)
    assert [one.failure and one.failure.code for one in ground.rotations(instance)] == ["no_controller"]
    now = ground.instance(instance)
    assert "secrets_not_rotated" in [one.code for one in now.health_reasons]
    assert (now.status, now.health) == ("running", "unhealthy")
    ground.fails(ground.change(instance, "drain", 1), "no_controller")
    ground.rests(instance)
    ground.torn_down(instance)
    assert traces(ground.hosts[1]) == []
