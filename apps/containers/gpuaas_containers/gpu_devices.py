"""The GPUs of a host, and how the engine gives some of them to a container. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

CDI_KIND = "nvidia.com/gpu"  # of the Container Device Interface


@dataclass(frozen=True, slots=True)
class GpuDevices:
    """GPUs of a host by their numbers, and nodes that every GPU needs. `described` are the numbers that the host's CDI
    specification describes: with a GPU of these come the driver's own libraries and nodes.
    """

    gpus: tuple[int, ...] = ()
    shared: tuple[str, ...] = ()
    described: tuple[int, ...] = ()

    @property
    def by_description(self) -> bool:
        return bool(self.gpus) and set(self.gpus) <= set(self.described)


def choose_gpus(found: GpuDevices, numbers: tuple[int, ...]) -> GpuDevices:
    """Return the devices of a container that gets these GPUs (`gpu_assignment.py`)."""
    return GpuDevices(numbers, found.shared, found.described) if numbers else GpuDevices()


def device_arguments(devices: GpuDevices) -> Iterator[str]:
    """Yield the engine's arguments: by description where the host has one for all of them, else device nodes."""
    if devices.by_description:
        yield from (f"--device={CDI_KIND}={number}" for number in devices.gpus)
    else:
        yield from (f"--device=/dev/nvidia{number}" for number in devices.gpus)
        yield from (f"--device={path}" for path in devices.shared)


def gpu_variables(devices: GpuDevices) -> Iterator[tuple[str, str]]:
    """Yield the variables of the GPUs. Inside, they are counted from 0. A description brings its own."""
    if devices.gpus:
        if not devices.by_description:
            yield "NVIDIA_VISIBLE_DEVICES", ",".join(map(str, devices.gpus))
        yield "CUDA_VISIBLE_DEVICES", ",".join(str(index) for index in range(len(devices.gpus)))
