"""Decides which services share an allocation, and which ports their hosts offer. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_compose.app_file import AppFile
from gpuaas_compose.services import Check, Service

ONE_ALLOCATION = "main"


@dataclass(frozen=True, slots=True)
class OfferedPort:
    """A port of a container that its host offers."""

    container_port: int
    host_port: int
    protocol: str


def allocation_of(app: AppFile, service: str) -> str | None:
    """Return the name of the service's allocation; None if app.yaml lists allocations and leaves it out."""
    if not app.allocations:
        return ONE_ALLOCATION
    return next((name for name, services in app.allocations.items() if service in services), None)


def is_spread(app: AppFile) -> bool:
    """Tell whether the services are on more than one allocation."""
    return len(app.allocations) > 1


def check_of(app: AppFile, service: Service) -> Check | None:
    """Return how a host sees that the service works: the probe of app.yaml with the times of the healthcheck."""
    named, own = app.probes.get(service.name), service.check
    if named is None:
        return own if service.check_place is None else None
    if own is None:
        return named
    times = (own.interval_seconds, own.timeout_seconds, own.failures, own.start_period_seconds)
    return Check(named.container_port, named.path, *times)


def offered_ports(app: AppFile, service: Service) -> list[OfferedPort]:
    """List what the host offers: published ports, the probed port, and all others if services are elsewhere.

    A port that is not published keeps its number, so that `NAME:PORT` means the same on every allocation.
    """
    check = check_of(app, service)
    offered: dict[tuple[int, str], OfferedPort] = {}
    for port in service.ports:
        if port.published is not None or is_spread(app):
            host_port = port.container_port if port.published is None else port.published
            offered[port.container_port, port.protocol] = OfferedPort(port.container_port, host_port, port.protocol)
    if check is not None:
        probed = check.container_port
        offered.setdefault((probed, "tcp"), OfferedPort(probed, probed, "tcp"))
    return list(offered.values())


def host_port_of(app: AppFile, service: Service, container_port: int) -> int | None:
    """Return the host's port for a TCP port of the container; None if the host does not offer it."""
    ports = (port for port in offered_ports(app, service) if port.protocol == "tcp")
    return next((port.host_port for port in ports if port.container_port == container_port), None)


def gpus_of(app: AppFile, services: Sequence[Service], allocation: str) -> int:
    """Return how many GPUs the allocation must have; `all` asks for one at least."""
    there = [service for service in services if allocation_of(app, service.name) == allocation]
    return sum(1 if service.gpus == "all" else int(service.gpus or 0) for service in there)
