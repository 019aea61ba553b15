"""Decides which services share an allocation, and which ports their hosts offer. Pure."""

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


@dataclass(frozen=True, slots=True)
class Layout:
    """The services of an app, and where app.yaml puts them."""

    app: AppFile
    services: tuple[Service, ...]

    def allocation_of(self, service: str) -> str | None:
        """Return the name of the service's allocation; None if app.yaml lists allocations and leaves it out."""
        if not self.app.allocations:
            return ONE_ALLOCATION
        return next((name for name, services in self.app.allocations.items() if service in services), None)

    @property
    def is_spread(self) -> bool:
        """Tell whether the services are on more than one allocation."""
        return len({self.allocation_of(service.name) for service in self.services}) > 1

    def is_needed_elsewhere(self, service: str) -> bool:
        """Tell whether a service on another allocation depends on this one."""
        here = self.allocation_of(service)
        return any(service in one.depends_on and self.allocation_of(one.name) != here for one in self.services)

    def check_of(self, service: Service) -> Check | None:
        """Return how a host sees that the service works: the probe of app.yaml with the times of the healthcheck."""
        named, own = self.app.probes.get(service.name), service.check
        if named is None:
            return own if service.check_place is None else None
        if own is None:
            return named
        times = (own.interval_seconds, own.timeout_seconds, own.failures, own.start_period_seconds)
        return Check(named.container_port, named.path, *times)

    def offered_ports(self, service: Service) -> list[OfferedPort]:
        """List what the host offers: published ports, the probed port, and exposed ports that another allocation needs.

        A port that is not published keeps its number, so that NAME:PORT means the same on every allocation.
        """
        needed = self.is_needed_elsewhere(service.name)
        offered: dict[tuple[int, str], OfferedPort] = {}
        for port in service.ports:
            if port.published is not None or needed:
                host_port = port.container_port if port.published is None else port.published
                offered[port.container_port, port.protocol] = OfferedPort(port.container_port, host_port, port.protocol)
        check = self.check_of(service)
        if check is not None:
            probed = check.container_port
            offered.setdefault((probed, "tcp"), OfferedPort(probed, probed, "tcp"))
        return list(offered.values())

    def host_port_of(self, service: Service, container_port: int) -> int | None:
        """Return the host's port for a TCP port of the container; None if the host does not offer it."""
        ports = (port for port in self.offered_ports(service) if port.protocol == "tcp")
        return next((port.host_port for port in ports if port.container_port == container_port), None)

    def gpus_of(self, service: Service) -> int:
        """Return how many GPUs the service's allocation must have; `all` asks for one at least."""
        here = self.allocation_of(service.name)
        there = [one for one in self.services if self.allocation_of(one.name) == here]
        return sum(1 if one.gpus == "all" else int(one.gpus or 0) for one in there)
