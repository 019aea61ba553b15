"""Runs one probe against its own target: a connection, a request or a unit. Short, bounded, and never to another address.

The app at the other end may be hostile: only the first line of a response is read, within the probe's timeout.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.printable import printable
from gpuaas_agent.probes.spec import Probe
from gpuaas_agent.probes.state import Answer

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: |\r|\n|$)")
_LONGEST_LINE = 1024
_LONGEST_ANSWER = 200


@dataclass(frozen=True)
class ProbeTarget:
    """Says where an allocation's probes go. In the context `network`, the calling thread is in the allocation's network."""

    addresses: tuple[str, ...]
    network: Callable[[], AbstractContextManager[None]]
    is_unit_active: Callable[[str, Deadline], bool]


def run_probe(probe: Probe, target: ProbeTarget) -> Answer:
    deadline = Deadline.after(probe.timeout)
    try:
        if probe.kind == "unit":
            active = target.is_unit_active(probe.unit, deadline)
            return Answer(active, f"{probe.unit} is {'active' if active else 'not active'}")
        with target.network():
            return _over_network(probe, target, deadline)
    except (OSError, TaskFailure) as problem:
        return Answer(False, _shown(problem))


def _over_network(probe: Probe, target: ProbeTarget, deadline: Deadline) -> Answer:
    """Try the allocation's own address, then its loopback: an app may listen on one of them only."""
    first: Answer | None = None
    for address in target.addresses:
        try:
            return _try_address(probe, address, deadline)
        except OSError as problem:
            first = first or Answer(False, _shown(problem))
    return first or Answer(False, "no address")


def _try_address(probe: Probe, address: str, deadline: Deadline) -> Answer:
    left = deadline.remaining()
    if left <= 0:
        raise TimeoutError
    with socket.create_connection((address, probe.port), timeout=left) as connection:
        if probe.kind == "tcp":
            return Answer(True, "connected")
        host = f"[{address}]" if ":" in address else address
        request = f"GET {probe.path} HTTP/1.1\r\nHost: {host}:{probe.port}\r\nUser-Agent: gpuaas-probe\r\n"
        connection.sendall(f"{request}Accept: */*\r\nConnection: close\r\n\r\n".encode())
        return _judge(probe, _first_line(connection, deadline))


def _first_line(connection: socket.socket, deadline: Deadline) -> bytes:
    line = b""
    while b"\n" not in line and len(line) < _LONGEST_LINE:
        left = deadline.remaining()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        data = connection.recv(_LONGEST_LINE)
        if not data:
            break
        line += data
    return line


def _judge(probe: Probe, line: bytes) -> Answer:
    found = _STATUS_LINE.match(line)
    if found is None:
        return Answer(False, "the answer is not HTTP")
    status = int(found.group(1))
    passed = status in probe.expected_status if probe.expected_status else 200 <= status < 400
    return Answer(passed, f"HTTP {status}")


def _shown(problem: Exception) -> str:
    if isinstance(problem, TimeoutError):
        return "timed out"
    if isinstance(problem, ConnectionRefusedError):
        return "connection refused"
    text = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return printable(text or type(problem).__name__, _LONGEST_ANSWER)
