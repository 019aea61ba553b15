"""Derives the manifest of a version from app.yaml and the services. Pure: what is wrong was found before."""

from collections.abc import Mapping, Sequence

from gpuaas_compose.app_file import AppFile
from gpuaas_compose.placement import (
    allocation_of,
    check_of,
    gpus_of,
    host_port_of,
    is_spread,
    offered_ports,
)
from gpuaas_compose.services import InputReference, Service, Value

Json = dict[str, object]
_NO_INPUTS: Json = {"type": "object", "additionalProperties": False, "properties": {}}


def manifest_of(app: AppFile, services: Sequence[Service]) -> Json:
    """Return the manifest as data. The version's artifact is the first service's image; the others are named in profiles."""
    compatibility: Json = {"shapes": list(app.shapes)} if app.shapes else {}
    if is_spread(app):
        compatibility["requires_node_network"] = True
    manifest: Json = {
        "manifest": 1,
        "slug": app.slug,
        "display_name": app.display_name,
        "description": app.description,
        "version": app.version,
        "runtime_version": app.runtime_version,
        "artifact": {"kind": "launchable", "digest": services[0].digest},
        "compatibility": compatibility,
        "max_members": len(services),
        "components": [_component(app, services, service) for service in services],
        "inputs": app.inputs or _NO_INPUTS,
        "footprint": {"ports": _ports(app, services)},
        "probes": [probe for service in services if (probe := _probe(app, service)) is not None],
        "ui": {**app.ui, "endpoints": _endpoints(app, services)},
        "metering": [{"key": one.key, "unit": one.unit, "description": one.description} for one in app.metering],
    }
    return manifest


def _component(app: AppFile, services: Sequence[Service], service: Service) -> Json:
    allocation = allocation_of(app, service.name)
    component: Json = {
        "key": service.name,
        "min": 1,
        "max": 1,
        "placement": "shared",
        "allocation_group": allocation,
        "depends_on": list(service.depends_on),
        "runtime_profile": profile_of(app, service),
    }
    gpus = gpus_of(app, services, str(allocation))
    if gpus:
        component["compatibility"] = {"min_gpu_count": gpus}
    return component


def profile_of(app: AppFile, service: Service) -> Json:
    """Return how the service's container runs, in the words of the manifest."""
    limits = service.limits
    user = None if service.user is None else {"uid": service.user[0], "gid": service.user[1]}
    found: Json = {
        "image": service.digest,
        "command": _values(service.entrypoint),
        "args": _values(service.command),
        "env": {name: _value(value) for name, value in service.environment.items()},
        "ports": [
            {"container_port": port.container_port, "host_port": port.host_port, "protocol": port.protocol}
            for port in offered_ports(app, service)
        ],
        "volumes": [
            {"name": mount.volume, "path": mount.path, "read_only": mount.read_only} for mount in service.mounts
        ],
        "gpus": service.gpus,
        "resources": _present(
            {
                "cpus": limits.cpus,
                "memory_mib": limits.memory_mib,
                "shared_memory_mib": limits.shared_memory_mib,
                "processes": limits.processes,
            }
        ),
        "user": None if user is None else _present(user),
        "read_only_root": service.read_only,
        "restart": service.restart,
        "stop_timeout_seconds": service.stop_timeout_seconds,
    }
    return {name: value for name, value in _present(found).items() if value not in ({}, [])}


def _present(document: Mapping[str, object]) -> Json:
    return {name: value for name, value in document.items() if value is not None}


def _value(value: Value) -> object:
    return {"input": f"/{value.name}"} if isinstance(value, InputReference) else value


def _values(values: tuple[Value, ...] | None) -> list[object] | None:
    return None if values is None else [_value(value) for value in values]


def _ports(app: AppFile, services: Sequence[Service]) -> list[Json]:
    left = {(port.host_port, port.protocol) for service in services for port in offered_ports(app, service)}
    return [{"port": port, "protocol": protocol} for port, protocol in sorted(left)]


def _probe(app: AppFile, service: Service) -> Json | None:
    check = check_of(app, service)
    if check is None:
        return None
    found: Json = {
        "key": service.name,
        "component": service.name,
        "kind": "tcp" if check.path is None else "http",
        "purpose": ["readiness", "liveness"],
        "port": host_port_of(app, service, check.container_port),
        "path": check.path,
        "interval_seconds": check.interval_seconds,
        "timeout_seconds": check.timeout_seconds,
        "start_period_seconds": check.start_period_seconds,
        "failures": check.failures,
    }
    return _present(found)


def _endpoints(app: AppFile, services: Sequence[Service]) -> list[Json]:
    by_name = {service.name: service for service in services}
    found = []
    for endpoint in app.endpoints:
        document: Json = {
            "key": endpoint.key,
            "label": endpoint.label,
            "component": endpoint.service,
            "port": host_port_of(app, by_name[endpoint.service], endpoint.port),
            "protocol": endpoint.protocol,
            "path": endpoint.path,
        }
        found.append(_present(document))
    return found
