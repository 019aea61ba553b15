"""Slurm on slices: machines of their own with some GPUs of a host, that have none of its packages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_lab import Fleet
from gpuaas_slurm.controller import Slurm
from system_support.echo_lab import at_work
from system_support.lab_site import lab_site
from system_support.slurm_lab import MANIFEST, USER, SlurmLab, packages
from system_support.ssh_client import SshClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with lab_site("slurm-slices", 1) as (sandbox, fleet):
        made = SlurmLab(sandbox, Slurm.slug)
        made.publish(MANIFEST, packages())
        made.fleet, made.places = fleet, made.allocate(2, "h100-slice", 2)
        with at_work(Slurm(), made.controller()):
            yield made


def inside(lab: SlurmLab, place: str, folder: Path, command: str) -> str:
    """What a person in the slice gets to see, as a login user of the cluster."""
    ssh_client = SshClient(lab.sandbox.admin, lab.project_id, place, folder)
    ssh_client.get_certificate()
    ran = ssh_client.run(f"sudo runuser -u {USER} -- {command}", seconds=40)
    return (ran.stdout + ran.stderr).strip()


def left_on(fleet: Fleet) -> list[str]:
    """Of a cluster, on the disks of all slices, read from outside. The package manager's own records are not asked."""
    words, records = ("slurm", "munge", "pmix", USER), ("var/lib/dpkg/", "var/log/", "var/cache/", "var/lib/apt/")
    found = []
    for upper in fleet.hosts[0].slices_dir.glob("*/upper"):
        names = [str(path.relative_to(upper)) for path in upper.rglob("*") if not path.is_char_device()]
        found += [one for one in names if any(word in one for word in words) and not one.startswith(records)]
        accounts = [upper / name for name in ("etc/passwd", "etc/group", "etc/shadow")]
        found += [str(one) for one in accounts if one.exists() and any(word in one.read_text() for word in words)]
    return [one for one in found if not one.startswith("var/lib/systemd/deb-systemd")]


def test_two_slices_of_one_host_have_a_cluster_each_with_their_own_gpus_and_leave_nothing(
    lab: SlurmLab, tmp_path: Path
) -> None:
    begun = [
        lab.deploy(f"part-{number}", [("controller", place), ("worker", place)])
        for number, place in enumerate(lab.places)
    ]
    for instance, deploy in begun:
        lab.succeeds(deploy, 300)
        mode = lab.instance(instance).mode
        assert (mode and mode.name) == "single-node"
    for place in lab.places:
        assert inside(lab, place, tmp_path, "sinfo -h -o %N:%G") == "w1:gpu:h100:2"
        seen = inside(lab, place, tmp_path, "srun -Q --input=none --gres=gpu:2 env")
        assert "CUDA_VISIBLE_DEVICES=0,1" in seen
        refused = inside(lab, place, tmp_path, "srun -Q --input=none --immediate=5 --gres=gpu:3 true")
        assert "Requested node configuration is not available" in refused
    assert left_on(lab.fleet) != []
    for instance, _ in begun:
        lab.torn_down(instance)
    assert left_on(lab.fleet) == []
