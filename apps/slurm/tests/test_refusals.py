"""What a cluster refuses before anything is changed: contradicting inputs, and a host with too few GPUs."""

import pytest

from gpuaas_sdk import ControllerAllocation
from gpuaas_sdk.controller import ControllerMember, Failed
from gpuaas_slurm.facts import Facts
from gpuaas_slurm.inputs import Inputs
from gpuaas_slurm.worker_host import gpus_of


def member(gpus: int) -> ControllerMember:
    place = ControllerAllocation(id="alc_1", gpu_count=gpus, gpu_model="NVIDIA H100")
    return ControllerMember(id="mem_1", component_key="worker", allocation=place)


def host(gpus: int) -> Facts:
    return Facts("box-1", "v2", tuple(f"/dev/nvidia{number}" for number in range(gpus)), "22.05.8", "22.05.8-4")


@pytest.mark.parametrize("given", [{"users": [{"name": "ann"}] * 2}, {"partitions": [{"name": "main"}] * 2}])
def test_inputs_that_name_something_twice_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(Failed, match="is named twice") as failed:
        Inputs.of(given)
    assert failed.value.failure.code == "inputs_contradict"


def test_a_host_that_shows_fewer_gpus_than_its_allocation_has_is_refused() -> None:
    with pytest.raises(Failed, match="box-1 shows 3 of the 4 GPUs of alc_1") as failed:
        gpus_of(member(4), host(3))
    assert failed.value.failure.code == "gpus_missing"
    assert gpus_of(member(2), host(3)) == (("/dev/nvidia0", "/dev/nvidia1"), "NVIDIA H100")
    assert gpus_of(member(0), host(3)) == ((), "")
    assert gpus_of(member(4), host(0)) == ((), "NVIDIA H100")
