"""The GPUs of a container: those of the allocation, by the host's description of them where there is one."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from gpuaas_containers import hostside
from gpuaas_containers.gpu_devices import GpuDevices, device_arguments, gpu_variables

SHARED = ("/dev/nvidiactl",)
# As the vendor's tool writes it, in its older order and in its newer one.
OLDER = """\
cdiVersion: 0.3.0
containerEdits:
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-ctk
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
  name: "1"
- containerEdits: {}
  name: all
kind: nvidia.com/gpu
"""
NEWER = """\
---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
    - name: "0"
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
              name: "7"
    - name: GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c
"""
AS_JSON = '{"kind": "nvidia.com/gpu", "devices": [{"name": "3"}, {"name": "all"}]}'


def test_described_gpus_are_given_by_their_description_and_others_by_their_nodes() -> None:
    described, plain = GpuDevices((0, 1), SHARED, (0, 1, 2)), GpuDevices((0, 3), SHARED, (0, 1, 2))
    assert list(device_arguments(described)) == ["--device=nvidia.com/gpu=0", "--device=nvidia.com/gpu=1"]
    assert list(device_arguments(plain)) == [
        "--device=/dev/nvidia0",
        "--device=/dev/nvidia3",
        "--device=/dev/nvidiactl",
    ]
    assert list(device_arguments(GpuDevices())) == []
    assert dict(gpu_variables(described)) == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert dict(gpu_variables(plain)) == {"NVIDIA_VISIBLE_DEVICES": "0,3", "CUDA_VISIBLE_DEVICES": "0,1"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (OLDER, {0, 1}),
        (NEWER, {0}),
        (AS_JSON, {3}),
        (AS_JSON.replace("nvidia.com/gpu", "example.com/gpu"), set()),
        (OLDER.replace("nvidia.com/gpu", "example.com/gpu"), set()),
        ("[]", set()),
        ('{"kind": 1}', set()),
        ("\0\xff: [", set()),
        ("", set()),
    ],
)
def test_a_host_reads_which_gpus_are_described(text: str, numbers: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(hostside.__file__).parent / "programs"))
    for name in ("host_commands", "host_units", "host_facts"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert import_module("host_facts").described_in(text) == numbers
