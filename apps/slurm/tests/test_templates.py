"""What is written on hosts, text by text. A changed text is a change of every running cluster: look at it, then keep it."""

import os
from pathlib import Path

import pytest

from gpuaas_slurm.inputs import Inputs
from gpuaas_slurm.templates import small_confs, units
from gpuaas_slurm.templates.jobcomp_lua import jobcomp_lua
from gpuaas_slurm.templates.slurm_conf import ClusterConf, slurm_conf

GOLDEN = Path(__file__).parent / "golden"
MARK = {"GPUAAS_INSTANCE": "ins_01"}
GIVEN = {
    "cluster_name": "lab",
    "partitions": [{"name": "short", "max_time": "1:00:00"}, {"name": "long", "default": True}],
}
H100 = "NVIDIA H100 80GB HBM3"


def _conf(accounting: bool, cgroup: str, memory_per_cpu: int | None = None) -> str:
    partitions = Inputs.of(GIVEN).partitions
    return slurm_conf(ClusterConf("lab", "box-1", "10.0.0.1", partitions, accounting, cgroup, memory_per_cpu))


TEXTS = {
    "slurm.conf": _conf(accounting=False, cgroup="v1"),
    "slurm-accounting.conf": _conf(accounting=True, cgroup="none"),
    "cgroup.conf": small_confs.cgroup_conf("v1"),
    "gres.conf": small_confs.gres_conf(H100, ("/dev/nvidia0", "/dev/nvidia1")),
    "slurmdbd.conf": small_confs.slurmdbd_conf(),
    "jobcomp.lua": jobcomp_lua(),
    "munge.service": units.munge_unit(MARK),
    "database.service": units.database_unit(MARK),
    "accounting.service": units.accounting_unit(MARK),
    "controller.service": units.controller_unit(MARK, accounting=True),
    "worker.service": units.worker_unit(MARK, "w1", "10.0.0.1", "gpu:h100:2"),
    "status.socket": units.status_socket(),
    "status@.service": units.status_unit(MARK, accounting=True),
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_text_is_its_golden_text(name: str) -> None:
    kept = GOLDEN / name
    if os.environ.get("GPUAAS_WRITE_GOLDEN"):
        kept.write_text(TEXTS[name])
    assert TEXTS[name] == kept.read_text()


def test_every_golden_text_is_still_rendered() -> None:
    assert {one.name for one in GOLDEN.iterdir()} == set(TEXTS)


def test_a_host_without_control_groups_gets_no_settings_for_them() -> None:
    assert small_confs.cgroup_conf("none") == ""
    assert "proctrack/linuxproc" in _conf(accounting=False, cgroup="none")


def test_memory_is_scheduled_and_limited_only_where_requested() -> None:
    given, plain = _conf(False, "v2", 2048).splitlines(), _conf(False, "v2").splitlines()
    assert {*given} - {*plain} == {"SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=2048"}
    assert "ConstrainRAMSpace=yes" in small_confs.cgroup_conf("v2", memory=True)
    assert "RAM" not in small_confs.cgroup_conf("v2")


@pytest.mark.parametrize(
    ("model", "word"),
    [(H100, "h100"), ("NVIDIA A100-SXM4-40GB", "a100"), ("NVIDIA L40S", "l40s"), ("Strange Thing", "strange_thing")],
)
def test_a_gpu_type_is_its_common_name(model: str, word: str) -> None:
    assert small_confs.gpu_type(model) == word
    assert small_confs.gres(model, ()) is None
