"""Hosts that are off, or gone with their allocation, when a Slurm cluster is to let go of them: every state has an exit."""

from collections.abc import Iterator

import pytest

from gpuaas_lab import Host
from gpuaas_sdk import Allocation, NewMemberOperation
from gpuaas_sdk.sync.wait import wait_for
from gpuaas_slurm.controller import Slurm
from gpuaas_slurm.layout import MUNGE_KEY
from system_support.echo_lab import at_work
from system_support.slurm_lab import SlurmLab, slurm_lab, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SLURMD_LOG = "/var/log/gpuaas-slurm/slurmd.log"


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab("slurm-lost", 4) as made, at_work(Slurm(), made.controller()):
        yield made


@pytest.fixture(scope="module")
def cluster(lab: SlurmLab) -> str:
    return lab.launched("lost", [0, 1, 2, 3], packages="host")


def back(lab: SlurmLab, number: int) -> None:
    lab.hosts[number].power_on()
    lab.hosts[number].wait_ssh()


def test_a_worker_whose_host_is_off_is_forgotten_at_once_and_cleared_when_it_is_back(
    lab: SlurmLab, cluster: str
) -> None:
    node = lab.node(cluster, 1)
    lab.hosts[1].power_cut()
    lab.fails(lab.change(cluster, "remove", 1), "host_unreachable")
    assert (node in lab.nodes(), lab.worker(cluster, 1).status) == (False, "failed")
    assert len(set(lab.as_user("srun", "-Q", "--input=none", "-N3", "hostname").split())) == 3
    back(lab, 1)
    removed = lab.succeeds(lab.change(cluster, "remove", 1))
    assert [(one.status, one.verified) for one in lab.receipts(removed)] == [("clean", True)]
    assert node not in lab.nodes()
    assert traces(lab.hosts[1]) == []


def test_a_worker_whose_allocation_is_released_leaves_the_cluster_first(lab: SlurmLab, cluster: str) -> None:
    node, place = lab.node(cluster, 2), lab.places[2]
    waiting = lab.submitted("-w", node, "--begin=now+1hour")
    lab.sandbox.admin.allocations.release(lab.project_id, place)
    lab.comes(lambda: all(one.allocation_id != place for one in lab.workers(cluster)), "its leaving")
    ended = lab.sandbox.admin.operations.list(lab.project_id, instance_id=cluster).all()
    [left] = [one for one in ended if one.parameters.get("release_of") == [place]]
    assert (left.kind, lab.succeeds(left).status) == ("remove", "succeeded")
    assert node not in lab.nodes()
    assert left.progress is not None
    assert waiting in str(left.progress.message)  # nobody's job is stranded silently
    lab.hosts[0].run(["scancel", waiting])


def restart_worker(host: Host) -> None:
    """Its daemons, by hand, with an empty log."""
    units = ["gpuaas-slurm-munge.service", "gpuaas-slurm-worker.service"]
    host.run(["systemctl", "stop", *units])
    host.run(["truncate", "--size=0", SLURMD_LOG])
    host.run(["systemctl", "start", "--no-block", *units])


def test_a_worker_that_was_forced_out_opens_nothing_with_the_key_that_it_knew(lab: SlurmLab, cluster: str) -> None:
    node, known = lab.node(cluster, 3), lab.key()
    lab.hosts[3].power_cut()
    failed = lab.fails(lab.change(cluster, "remove", 3), "host_unreachable")
    asked = lab.sandbox.admin.operations
    asked.force(lab.project_id, failed.id, "it burnt down")
    assert [one.allocation_id for one in lab.workers(cluster)] == [lab.places[0]]
    assert [one.verified for one in lab.receipts(failed)] == [False]
    assert lab.rotation_after(failed).status == "succeeded"
    back(lab, 3)
    assert (lab.key(3) == known, lab.key() == known) == (True, False)
    restart_worker(lab.hosts[3])
    lab.comes(lambda: "Unable to register" in lab.hosts[3].read_file(SLURMD_LOG), "the refusal")
    assert set(lab.nodes()) == {lab.node(cluster, 0)}
    # One that is there all the same, because somebody gave it the key of today, is forgotten by the next reconcile.
    (lab.hosts[3].upper / MUNGE_KEY.lstrip("/")).write_bytes(lab.key())
    restart_worker(lab.hosts[3])
    lab.comes(lambda: node in lab.nodes(), "the node that nobody wants")
    lab.verb(cluster, "reconcile")
    assert set(lab.nodes()) == {lab.node(cluster, 0)}


def test_a_cluster_whose_controller_is_off_is_cleared_elsewhere_and_goes_when_it_is_back(
    lab: SlurmLab, cluster: str
) -> None:
    lab.torn_down(cluster)
    instance = lab.launched("headless", [1], packages="host")
    lab.hosts[0].power_cut()
    failed = lab.fails(lab.operate(instance, "decommission"), "host_unreachable")
    assert failed.failure is not None
    assert lab.hosts[0].address in failed.failure.message
    assert traces(lab.hosts[1]) == []  # what could be done was done
    back(lab, 0)
    lab.torn_down(instance)
    assert traces(lab.hosts[0]) == []


def test_a_cluster_whose_controllers_allocation_is_gone_is_unhealthy_and_its_workers_are_cleared(
    lab: SlurmLab,
) -> None:
    instance = lab.launched("beheaded", [1], packages="host")
    place = lab.places[0]
    lab.sandbox.admin.allocations.release(lab.project_id, place)

    def released() -> Allocation | None:
        seen = lab.sandbox.admin.allocations.show(lab.project_id, place)
        return None if seen.state in ("active", "releasing") else seen

    ended = wait_for(released, 180.0, what="the release")
    assert (ended.state, ended.wipe_verified) == ("released", True), lab.sandbox.admin.allocations.timeline(
        lab.project_id, place
    )
    lab.rests(instance)
    assert [one.failure and one.failure.code for one in lab.rotations(instance)] == ["no_controller"]
    now = lab.instance(instance)
    assert "secrets_not_rotated" in [one.code for one in now.health_reasons]
    assert (now.status, now.health) == ("running", "unhealthy")
    # The only worker: the app needs one, so the request says that it means it.
    drain = NewMemberOperation(
        kind="drain", targets=[lab.worker(instance, 1).id], force=True, reason="the cluster has no controller"
    )
    lab.fails(lab.change_members(instance, drain), "no_controller")
    lab.rests(instance)
    lab.torn_down(instance)
    assert traces(lab.hosts[1]) == []
