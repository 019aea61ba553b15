"""Reads what a service needs and may use: GPUs, CPUs, memory, processes."""

from dataclasses import dataclass

from gpuaas_compose.compose_keys import DEPLOY, DEVICE, LIMITS, RESERVATIONS, RESOURCES
from gpuaas_compose.services import Limits
from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.yaml_text import Path

_ONE_MEMBER = "A service has one member; write further services out."
_MOST_GPUS = 64

Json = dict[str, object]


@dataclass(slots=True)
class _Declared:
    """One limit that may be declared in two places, and where it was declared first."""

    value: object
    path: Path


def read_resources(reader: TypedReader, path: Path, service: Json) -> tuple[int | str | None, Limits]:
    """Return the GPUs (a number or all) and the limits. What is declared twice is refused."""
    deploy_at = (*path, "deploy")
    deploy = reader.known(deploy_at, service["deploy"], DEPLOY) if "deploy" in service else {}
    for place, given in (((*deploy_at, "replicas"), deploy.get("replicas")), ((*path, "scale"), service.get("scale"))):
        if given is not None and given != 1:
            reader.refuse(place, _ONE_MEMBER)
    resources_at = (*deploy_at, "resources")
    resources = reader.known(resources_at, deploy["resources"], RESOURCES) if "resources" in deploy else {}
    limits_at = (*resources_at, "limits")
    limits = reader.known(limits_at, resources["limits"], LIMITS) if "limits" in resources else {}
    declared: dict[str, _Declared] = {name: _Declared(value, (*limits_at, name)) for name, value in limits.items()}
    for short, name in (("cpus", "cpus"), ("mem_limit", "memory"), ("pids_limit", "pids")):
        if short in service and name in declared:
            reader.refuse((*path, short), f"The limit is in deploy.resources.limits.{name} already.")
        elif short in service:
            declared[name] = _Declared(service[short], (*path, short))
    return _gpus(reader, path, service, (*resources_at, "reservations"), resources), Limits(
        cpus=_cpus(reader, declared.get("cpus")),
        memory_mib=_memory(reader, declared.get("memory")),
        shared_memory_mib=reader.mebibytes((*path, "shm_size"), service["shm_size"]) if "shm_size" in service else None,
        processes=_processes(reader, declared.get("pids")),
    )


def _cpus(reader: TypedReader, declared: _Declared | None) -> float | int | None:
    if declared is None:
        return None
    value = declared.value
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 1024:
        reader.refuse(declared.path, "This must be a number of CPUs from 0.1 to 1024.")
        return None
    return int(value) if float(value).is_integer() else value


def _memory(reader: TypedReader, declared: _Declared | None) -> int | None:
    return None if declared is None else reader.mebibytes(declared.path, declared.value, 8)


def _processes(reader: TypedReader, declared: _Declared | None) -> int | None:
    return None if declared is None else reader.integer(declared.path, declared.value, 1, 4194304)


def _gpus(reader: TypedReader, path: Path, service: Json, place: Path, resources: Json) -> int | str | None:
    reserved = reader.known(place, resources["reservations"], RESERVATIONS) if "reservations" in resources else {}
    devices_at = (*place, "devices")
    devices = reader.sequence(devices_at, reserved["devices"]) if "devices" in reserved else []
    counts = [_device(reader, (*devices_at, index), device) for index, device in enumerate(devices)]
    if "gpus" in service:
        counts += _short_gpus(reader, (*path, "gpus"), service["gpus"])
    if len(counts) > 1:
        reader.refuse(devices_at if devices else (*path, "gpus"), "Reserve GPUs only once.")
    return counts[0] if counts else None


def _short_gpus(reader: TypedReader, path: Path, value: object) -> list[int | str | None]:
    if isinstance(value, list):
        return [_device(reader, (*path, index), item, needs_capability=False) for index, item in enumerate(value)]
    return [_count(reader, path, value)]


def _device(reader: TypedReader, path: Path, value: object, needs_capability: bool = True) -> int | str | None:
    given = reader.known(path, value, DEVICE)
    capabilities = given.get("capabilities", [] if needs_capability else ["gpu"])
    if not isinstance(capabilities, list) or "gpu" not in capabilities:
        reader.refuse(path, "Only GPUs can be reserved: capabilities must contain gpu.")
    if given.get("driver", "nvidia") not in ("nvidia", "", None):
        reader.refuse((*path, "driver"), "The driver must be nvidia.")
    return _count(reader, (*path, "count"), given.get("count", "all"))


def _count(reader: TypedReader, path: Path, value: object) -> int | str | None:
    if value == "all" or value == -1:
        return "all"
    return reader.integer(path, value, 1, _MOST_GPUS)
