"""Finds contradictions between two files that are each valid: names that lead nowhere, ports that collide."""

from collections.abc import Sequence

from gpuaas_compose.app_file import AppFile
from gpuaas_compose.healthchecks import NOT_RUNNABLE
from gpuaas_compose.placement import Layout
from gpuaas_compose.services import Service
from gpuaas_compose.yaml_text import Document, Fault, Path, printable

_LOWEST_HOST_PORT = 1024


class Consistency:
    """Compares app.yaml with the services of the compose file."""

    def __init__(self, app: AppFile, services: Sequence[Service], documents: tuple[Document, Document]) -> None:
        self.app = app
        self.layout = Layout(app, tuple(services))
        self.services = {service.name: service for service in services}
        self._app_document, self._compose_document = documents
        self._faults: list[Fault] = []

    def faults(self) -> list[Fault]:
        self._allocations()
        self._names()
        self._endpoints()
        self._metering()
        self._checks()
        self._ports()
        self._volumes()
        self._gpus()
        self._dependencies()
        return self._faults

    def _in_app(self, path: Path, message: str) -> None:
        self._faults.append(self._app_document.fault(path, message))

    def _in_service(self, service: str, key: str, message: str) -> None:
        self._faults.append(self._compose_document.fault(("services", service, key), message))

    def _allocations(self) -> None:
        for name, services in self.app.allocations.items():
            for service in services:
                self._require(("allocations", name), service)
        for service in self.services:
            if self.layout.allocation_of(service) is None:
                self._in_app(("allocations",), f"{service} is on no allocation. Name it under one of them.")

    def _names(self) -> None:
        for field, names in (("probes", self.app.probes), ("images", self.app.images)):
            for service in names:
                self._require((field, service), service)
        used = {one.secret for service in self.services.values() for one in service.secrets}
        for secret in self.app.secrets:
            if secret not in used:
                self._in_app(("secrets", secret), f"No service has the secret {printable(secret)}.")

    def _require(self, path: Path, service: str) -> None:
        if service not in self.services:
            self._in_app(path, f"The compose file has no service {printable(service)}.")

    def _endpoints(self) -> None:
        for endpoint in self.app.endpoints:
            service = self.services.get(endpoint.service)
            if service is None:
                self._require((*endpoint.place, "service"), endpoint.service)
            elif self.layout.host_port_of(service, endpoint.port) is None:
                message = f"{endpoint.service} does not publish its port {endpoint.port}; name it in ports."
                self._in_app((*endpoint.place, "port"), message)

    def _metering(self) -> None:
        for counter in self.app.metering:
            if counter.service:  # else it is refused already
                self._require((*counter.place, "service"), counter.service)

    def _checks(self) -> None:
        for service in self.services.values():
            if service.check_place is not None and service.name not in self.app.probes:
                self._faults.append(self._compose_document.fault(service.check_place, NOT_RUNNABLE))

    def _ports(self) -> None:
        taken: dict[tuple[str | None, int, str], str] = {}
        for service in self.services.values():
            allocation = self.layout.allocation_of(service.name)
            for port in self.layout.offered_ports(service):
                if port.host_port < _LOWEST_HOST_PORT:
                    needed = self.layout.is_needed_elsewhere(service.name)
                    why = "is for a service on another allocation" if needed else "is probed"
                    message = (
                        f"The port {port.container_port} {why}, so the host offers it, and ports of the host below "
                        f"{_LOWEST_HOST_PORT} belong to the system; publish another, as in 8080:{port.container_port}."
                    )
                    self._in_service(service.name, "ports", message)
                other = taken.setdefault((allocation, port.host_port, port.protocol), service.name)
                if other != service.name:
                    message = f"{other} is on the same allocation and has the host's port {port.host_port} already."
                    self._in_service(service.name, "ports", message)

    def _volumes(self) -> None:
        users: dict[str, str] = {}
        for service in self.services.values():
            for mount in service.mounts:
                other = users.setdefault(mount.volume, service.name)
                if self.layout.allocation_of(other) != self.layout.allocation_of(service.name):
                    message = (
                        f"{other} uses the volume {mount.volume} on another allocation; a volume is on one allocation."
                    )
                    self._in_service(service.name, "volumes", message)

    def _gpus(self) -> None:
        """Checks that each service gets GPUs of its own, so that none is left beside one that has all."""
        first: dict[str | None, Service] = {}
        for service in self.services.values():
            if service.gpus:
                other = first.setdefault(self.layout.allocation_of(service.name), service)
                if other is not service and "all" in (other.gpus, service.gpus):
                    message = f"{other.name} has GPUs of the same allocation, so neither can have all; say how many."
                    self._in_service(service.name, "deploy", message)

    def _dependencies(self) -> None:
        for service in self.services.values():
            for name in service.depends_on:
                other = self.services.get(name)
                elsewhere = self.layout.allocation_of(name) != self.layout.allocation_of(service.name)
                if other is not None and elsewhere and not self.layout.offered_ports(other):
                    message = f"{name} is on another allocation and has no port; name it in its ports or expose."
                    self._in_service(service.name, "depends_on", message)
                if name in service.healthy_first and other is not None and self.layout.check_of(other) is None:
                    self._in_service(service.name, "depends_on", f"{name} has no healthcheck that a host can run.")
