"""Selects the driver for each shape on this host by the names in agent.json."""

from __future__ import annotations

from collections.abc import Callable

from gpuaas_agent.allocations import AllocationLedger
from gpuaas_agent.config import Config, ConfigInvalid
from gpuaas_agent.drivers.host import HostDriver
from gpuaas_agent.drivers.lab_container import LabContainerDriver
from gpuaas_agent.drivers.seam import Driver
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.specs import Shape

_DRIVERS: dict[str, Callable[[Config, AllocationLedger], Driver]] = {
    "host": HostDriver,
    "lab_container": LabContainerDriver,
}


class DriverRegistry:
    def __init__(self, config: Config, ledger: AllocationLedger) -> None:
        names: dict[Shape, str] = {
            "baremetal": config.bare_metal_driver,
            "gpu_slice": config.slice_driver,
        }
        self._by_shape: dict[Shape, Driver] = {}
        for shape, name in names.items():
            if name in ("", "none"):
                continue
            if name not in _DRIVERS:
                raise ConfigInvalid(f"there is no driver {name!r} for {shape}")
            self._by_shape[shape] = _DRIVERS[name](config, ledger)

    def for_shape(self, shape: Shape) -> Driver:
        driver = self._by_shape.get(shape)
        if driver is None:
            raise TaskFailure(
                "shape_not_offered",
                f"This host offers no {shape}",
                "Set the driver for this shape in agent.json, or use another node.",
            )
        return driver

    def all(self) -> list[Driver]:
        return list(self._by_shape.values())
