"""Ports for the servers of tests: a port of one process is not given to another, nor taken by a client connection."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gpuaas_sdk.testing import free_port, ports

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's names of sockets")
GREEDY = """
import sys
from gpuaas_sdk.testing import ports
ports.FIRST_PORT, ports.FEWEST_PORTS = int(sys.argv[1]), 1
ports._ports_below_outgoing = lambda: list(range(int(sys.argv[1]), int(sys.argv[1]) + 40))
print(*(ports.free_port() for _ in range(15)), flush=True)
sys.stdin.read()
"""


def greedy(first: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", GREEDY, str(first)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def given(process: "subprocess.Popen[str]") -> list[int]:
    assert process.stdout is not None
    return [int(word) for word in process.stdout.readline().split()]


def test_two_processes_never_get_the_same_port() -> None:
    first = free_port()
    with greedy(first) as one, greedy(first) as other:
        found = [*given(one), *given(other)]
        assert len(set(found)) == 30
        assert first not in found  # reserved here, although nothing listens on it
        one.communicate()
        other.communicate()


def test_a_wanted_port_is_given_once() -> None:
    wanted = free_port()
    ports._reservations.pop(wanted).close()
    assert free_port(wanted) == wanted
    assert free_port(wanted) != wanted


def test_a_port_is_outside_the_kernels_range_and_not_in_use() -> None:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(free_port() < first_outgoing for _ in range(20))


def test_a_port_in_use_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, free = free_port(), free_port()
    for port in (taken, free):
        ports._reservations.pop(port).close()
    monkeypatch.setattr(ports, "_ports_below_outgoing", lambda: [taken, free])
    with socket.create_server(("127.0.0.1", taken)):
        assert free_port() == free
