"""Two fleets with one interface: real lab hosts, or, without root, simulated agents that speak the same protocol."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from gpuaas_lab.container_engine import CONTAINER_ENGINE
from gpuaas_lab.fleet import Fleet
from gpuaas_lab.host import Host
from gpuaas_sdk.child_process import end_with_parent

HOSTS = 4
GPUS = 8


class DemoFleet(Protocol):
    """Declares what the demo needs from a fleet."""

    real: bool
    gateway: str | None

    def describe(self) -> str: ...
    def enrol(self, bundle: str) -> None: ...
    def host_at(self, address: str) -> Host | None: ...
    def close(self) -> None: ...


class RealFleet:
    real = True

    def __init__(self, name: str) -> None:
        self._fleet = Fleet(name=name, hosts=HOSTS, gpus_per_host=GPUS, layer=CONTAINER_ENGINE)
        self._fleet.__enter__()
        self.gateway: str | None = self._fleet.gateway

    def describe(self) -> str:
        return f"{HOSTS} booted hosts, each its own systemd and sshd, {GPUS} pretend GPUs, 2 NUMA nodes, NVLink groups"

    def enrol(self, bundle: str) -> None:
        for host in self._fleet.hosts:
            host.start_agent(bundle)

    def host_at(self, address: str) -> Host | None:
        return next((host for host in self._fleet.hosts if host.address == address), None)

    def close(self) -> None:
        self._fleet.close()


class SimulatedFleet:
    real = False
    gateway: str | None = None

    def __init__(self) -> None:
        self._agents: subprocess.Popen[bytes] | None = None

    def describe(self) -> str:
        return f"{HOSTS} simulated agents with {GPUS} GPUs each, speaking the real protocol"

    def enrol(self, bundle: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".bundle", delete=False) as file:
            file.write(bundle)
        command = [sys.executable, "-m", "gpuaas_agent.sim", "--bundle-file", file.name, "--nodes", str(HOSTS)]
        self._agents = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent(signal.SIGTERM, own_group=True)
        )
        self._bundle = Path(file.name)

    def host_at(self, address: str) -> Host | None:
        return None

    def close(self) -> None:
        if self._agents is not None:
            self._agents.terminate()
            try:
                self._agents.wait(10)
            except subprocess.TimeoutExpired:
                self._agents.kill()
            self._bundle.unlink(missing_ok=True)


def missing_requirements() -> list[str]:
    return Fleet.requirements()


@contextmanager
def demo_fleet(real: bool) -> Iterator[DemoFleet]:
    fleet: DemoFleet = RealFleet(f"demo-{os.getpid()}") if real else SimulatedFleet()
    try:
        yield fleet
    finally:
        fleet.close()
