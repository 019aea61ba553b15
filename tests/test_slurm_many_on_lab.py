"""Slurm in numbers, on real hosts: one cluster after the other on the same host, and one over sixteen. The slow tier.

GPUAAS_TEST_DEPLOYMENTS says how many clusters come and go; without it, fifty.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_lab import Host
from gpuaas_slurm.controller import Slurm
from system_support.echo_lab import at_work
from system_support.slurm_lab import USER, SlurmLab, disk, other_than, slurm_lab, traces

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]
DEPLOYMENTS = int(os.environ.get("GPUAAS_TEST_DEPLOYMENTS", "50"))
WIDE = 16


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab("slurm-many", WIDE) as made, at_work(Slurm(), made.controller()):
        yield made


def complaints(host: Host) -> list[str]:
    logs = (host.upper / "var/log/gpuaas-slurm").glob("slurm*.log")
    lines = [line for log in logs for line in Path(log).read_text().splitlines()]
    assert lines
    return [line for line in lines if "error" in line.lower() or "invalid" in line.lower()]


def test_fresh_clusters_in_a_row_know_every_account_and_leave_nothing(lab: SlurmLab) -> None:
    """What is judged is what a person would see first: the very first job after the cluster says that it is ready."""
    host, before = lab.hosts[0], None
    for number in range(DEPLOYMENTS):
        instance = lab.launched(f"fresh-{number}", [0], packages="host", accounting=True)
        assert lab.as_user("srun", "-Q", "--input=none", "hostname") == host.name, number
        assert lab.submitted(script="true").isdigit(), number
        assert complaints(host) == [], number
        lab.torn_down(instance)
        assert traces(host) == [], number
        # The first one has made what the host itself keeps, such as the backups of its lists of accounts.
        before = before or disk(host)
        assert other_than(before, host) == [], number


def test_a_cluster_over_sixteen_hosts_runs_a_job_on_all_of_them_and_leaves_nothing(lab: SlurmLab) -> None:
    instance = lab.launched("wide", list(range(WIDE)), packages="host")
    said = lab.as_user("srun", "-Q", "--input=none", f"-N{WIDE}", "hostname", seconds=60.0).split()
    assert sorted(said) == sorted(host.name for host in lab.hosts)
    gpus = lab.as_user(
        "srun", "-Q", "--input=none", f"-N{WIDE}", "--gres=gpu:8", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"
    )
    assert gpus.split() == ["0,1,2,3,4,5,6,7"] * WIDE
    assert USER in lab.hosts[-1].read_file("/etc/passwd")
    lab.torn_down(instance)
    assert [traces(host) for host in lab.hosts] == [[]] * WIDE
