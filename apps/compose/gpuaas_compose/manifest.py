"""Derives the manifest of a version from app.yaml and the services. Pure: what is wrong was found before."""

from collections.abc import Mapping, Sequence

from gpuaas_compose.app_file import AppFile
from gpuaas_compose.placement import Layout
from gpuaas_compose.services import InputReference, Service, Value
from gpuaas_compose.usage_section import MeteredCounter

Json = dict[str, object]
_NO_INPUTS: Json = {"type": "object", "additionalProperties": False, "properties": {}}


def manifest_of(app: AppFile, services: Sequence[Service]) -> Json:
    """Return the manifest as data. The version's artifact is the first service's image; the others are named in profiles."""
    layout = Layout(app, tuple(services))
    compatibility: Json = {"requires_capacity_shape": list(app.shapes)} if app.shapes else {}
    if layout.is_spread:
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
        "components": [_component(layout, service) for service in services],
        "inputs": app.inputs or _NO_INPUTS,
        "secrets": _secrets(layout),
        "footprint": {"ports": _ports(layout)},
        "probes": [probe for service in services if (probe := _probe(layout, service)) is not None],
        "ui": {**app.ui, "endpoints": _endpoints(layout)},
    }
    if layout.app.metering:
        manifest["metering"] = [_dimension(counter) for counter in layout.app.metering]
    if not manifest["secrets"]:
        del manifest["secrets"]
    return manifest


def _dimension(counter: MeteredCounter) -> Json:
    where: Json = {
        "component": counter.service,
        "port": counter.port,
        "path": counter.path,
        "metric": counter.metric,
        "labels": dict(counter.labels) or None,
    }
    found: Json = {
        "key": counter.key,
        "unit": counter.unit,
        "description": counter.description,
        "counter": _present(where),
    }
    return _present(found)


def _secrets(layout: Layout) -> list[Json]:
    """List the secrets that services read. One that app.yaml does not describe is given at launch."""
    used = dict.fromkeys(one.secret for service in layout.services for one in service.secrets)
    return [{"key": key, **layout.app.secrets.get(key, {"source": "given"})} for key in used]


def _component(layout: Layout, service: Service) -> Json:
    allocation = layout.allocation_of(service.name)
    component: Json = {
        "key": service.name,
        "min": 1,
        "max": 1,
        "placement": "shared",
        "allocation_group": allocation,
        "depends_on": list(service.depends_on),
        "runtime_profile": profile_of(layout, service),
    }
    if service.healthy_first:
        component["starts_after_ready"] = list(service.healthy_first)
    gpus = layout.gpus_of(service)
    if gpus:
        component["compatibility"] = {"min_gpu_count": gpus}
    return component


def profile_of(layout: Layout, service: Service) -> Json:
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
            for port in layout.offered_ports(service)
        ],
        "secrets": [{"secret": one.secret, "path": one.path} for one in service.secrets],
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


def _ports(layout: Layout) -> list[Json]:
    left = {(port.host_port, port.protocol) for service in layout.services for port in layout.offered_ports(service)}
    return [{"port": port, "protocol": protocol} for port, protocol in sorted(left)]


def _probe(layout: Layout, service: Service) -> Json | None:
    check = layout.check_of(service)
    if check is None:
        return None
    found: Json = {
        "key": service.name,
        "component": service.name,
        "kind": "tcp" if check.path is None else "http",
        "purpose": ["readiness", "liveness"],
        "port": layout.host_port_of(service, check.container_port),
        "path": check.path,
        "interval_seconds": check.interval_seconds,
        "timeout_seconds": check.timeout_seconds,
        "start_period_seconds": check.start_period_seconds,
        "failures": check.failures,
    }
    return _present(found)


def _endpoints(layout: Layout) -> list[Json]:
    by_name = {service.name: service for service in layout.services}
    found = []
    for endpoint in layout.app.endpoints:
        document: Json = {
            "key": endpoint.key,
            "label": endpoint.label,
            "component": endpoint.service,
            "port": layout.host_port_of(by_name[endpoint.service], endpoint.port),
            "protocol": endpoint.protocol,
            "path": endpoint.path,
        }
        found.append(_present(document))
    return found
