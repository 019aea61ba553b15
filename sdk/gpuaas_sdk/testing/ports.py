"""Ports for the servers of a test. Whoever is given one keeps it for as long as its process lives.

A port that was only found free is anybody's a moment later: another test run's, or, among those that the kernel gives to
outgoing connections, any client's, also while a server is killed and started again. These come from below the kernel's
range, and each is reserved on the machine by a socket whose name has its number; the kernel forgets it with the process.
"""

import random
import socket
import sys
from pathlib import Path

FIRST_PORT = 15_000
FEWEST_PORTS = 1_000
CAN_RESERVE = sys.platform.startswith("linux")  # names of sockets that are in no folder
_reservations: dict[int, socket.socket] = {}


def free_port(wanted: int | None = None) -> int:
    """A port on which nobody listens, and that no other process gets from this function while we live: this one if free."""
    ports = _ports_below_outgoing()
    random.shuffle(ports)
    for port in [*([wanted] if wanted else []), *ports]:
        if _reserve(port):
            if _nobody_listens(port):
                return port
            if reservation := _reservations.pop(port, None):
                reservation.close()
    return _port_of_the_kernel()


def _ports_below_outgoing() -> list[int]:
    """All that may be given; none where nothing can be reserved, or where the range leaves no room."""
    if not CAN_RESERVE:
        return []
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = list(range(FIRST_PORT, first_outgoing))
    return ports if len(ports) >= FEWEST_PORTS else []


def _reserve(port: int) -> bool:
    if not CAN_RESERVE:
        return True
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f"\0gpuaas-test-port-{port}")
    except OSError:
        reservation.close()
        return False
    _reservations[port] = reservation
    return True


def _nobody_listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True


def _port_of_the_kernel() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
