"""Slurm on real hosts, through the public API alone: a cluster's life from its launch to the proof that it is gone."""

import re
from collections.abc import Iterator

import pytest

from gpuaas_slurm.controller import Slurm
from system_support.echo_ground import at_work
from system_support.slurm_ground import Ground, slurm_ground

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with slurm_ground("slurm", 3) as made:
        yield made


@pytest.fixture(scope="module")
def at_work_here(ground: Ground) -> Iterator[None]:
    """One controller for the whole story, as a project has it."""
    slurm = Slurm()
    slurm.health_seconds = 1.0
    with at_work(slurm, ground.controller()):
        yield


@pytest.fixture(scope="module")
def cluster(ground: Ground, at_work_here: None) -> str:
    """A cluster of one node, on the first host."""
    return ground.launched("story", [0], packages="host", mode="single-node")


def test_a_cluster_of_one_node_is_ready_for_its_users_when_it_says_so(ground: Ground, cluster: str) -> None:
    seen = ground.as_user("srun", "--input=none", "--gres=gpu:2", "env")
    assert "CUDA_VISIBLE_DEVICES=0,1" in seen
    assert re.fullmatch(r"\d+", ground.submitted(script="true"))
    runtime = ground.instance(cluster).runtime or {}
    assert (runtime["app_version"], runtime["slurm_version"]) == ("0.1.0", "22.05.8")
    assert str(runtime["package_version"]).startswith("22.05.8-")


def test_no_line_of_error_is_in_the_logs_at_start(ground: Ground, cluster: str) -> None:
    for log in ("slurmctld", "slurmd"):
        lines = ground.hosts[0].read_file(f"/var/log/gpuaas-slurm/{log}.log").splitlines()
        assert lines
        assert [line for line in lines if "error" in line.lower() or "pmix" in line.lower()] == []


def test_a_job_sees_the_gpus_that_it_was_given_and_no_others(ground: Ground, cluster: str) -> None:
    look = "head -c1 /dev/nvidia0; head -c1 /dev/nvidia5"
    said = ground.as_user("srun", "--input=none", "--gres=gpu:1", "sh", "-c", look)
    assert "nvidia0' for reading: No such device" in said  # the lab's GPU is a number without a driver
    assert "nvidia5' for reading: Operation not permitted" in said


def test_the_commands_that_people_are_told_are_those_that_work(ground: Ground, cluster: str) -> None:
    bundle = ground.instance(cluster).access_bundle or {}
    commands = bundle["commands"]
    assert isinstance(commands, dict)
    for command in commands.values():
        inner = str(command).partition(" -- ")[2].split()
        assert ground.hosts[0].run(["timeout", "20", *inner], check=False, timeout=25).returncode == 0, command
    assert f"HostKeyAlias {ground.places[0]}" in str(bundle["ssh_config"])
