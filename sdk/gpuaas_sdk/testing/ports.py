"""Ports for the servers of a test. A process keeps a port that it was given until it ends.

A port that was only found free may be taken a moment later: by another test run, or, in the range that the kernel uses for
outgoing connections, by any client, even while a server restarts. These ports are below that range, and each is reserved
on the machine by a socket with the port number in its name; the kernel releases it when the process ends.
"""

import random
import socket
import sys
from pathlib import Path

FIRST_PORT = 15_000
MIN_PORTS = 1_000
CAN_RESERVE = sys.platform.startswith("linux")  # abstract socket names
_reservations: dict[int, socket.socket] = {}


def free_port(wanted: int | None = None) -> int:
    """Reserves a port on which nothing listens, preferably `wanted`. No other process gets it while this one lives."""
    ports = _ports_below_outgoing()
    random.shuffle(ports)
    for port in [*([wanted] if wanted else []), *ports]:
        if _reserve(port):
            if _is_free(port):
                return port
            if reservation := _reservations.pop(port, None):
                reservation.close()
    return _ask_kernel_for_port()


def _ports_below_outgoing() -> list[int]:
    """Return the ports that may be given out; none where ports cannot be reserved or the range leaves no room."""
    if not CAN_RESERVE:
        return []
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = list(range(FIRST_PORT, first_outgoing))
    return ports if len(ports) >= MIN_PORTS else []


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


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True


def _ask_kernel_for_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
