"""Holds as many event streams as it is told, until it is stopped: `python -m benchmarks.busy_streams`, order on stdin.

Says `open` when all are. A stream that ends is opened again. Raw sockets and epoll, as in `watchers`; nothing is kept.
"""

import json
import select
import socket
import sys
import time
from dataclasses import dataclass

from gpuaas_agent.sim.fleet import raise_file_limit

PAUSE = 0.1  # before a stream that was refused or ended is opened again
_OPEN = b": stream open"


@dataclass(frozen=True, slots=True)
class StreamOrder:
    port: int
    requests: list[str]  # one of each caller
    streams: int  # of each of them


class _Streams:
    def __init__(self, order: StreamOrder) -> None:
        raise_file_limit(len(order.requests) * order.streams + 1024)
        self._port = order.port
        self._poll = select.epoll()
        self._wires: dict[int, tuple[socket.socket, bytes]] = {}
        self._open: set[int] = set()
        for number in range(order.streams * len(order.requests)):
            self._connect(order.requests[number % len(order.requests)].encode())

    def _connect(self, request: bytes) -> None:
        wire = socket.create_connection(("127.0.0.1", self._port))
        wire.sendall(request)
        self._poll.register(wire.fileno(), select.EPOLLIN)
        self._wires[wire.fileno()] = wire, request

    def read(self) -> None:
        told = False
        while True:
            for number, _ in self._poll.poll():
                self._receive(number)
            if not told and len(self._open) == len(self._wires):
                told = True
                print("open", flush=True)

    def _receive(self, number: int) -> None:
        wire, request = self._wires[number]
        try:
            data = wire.recv(65_536)
        except ConnectionResetError:
            data = b""
        if _OPEN in data:
            self._open.add(number)
        elif number not in self._open and b"\r\n\r\n" in data and not data.startswith(b"HTTP/1.1 200"):
            data = b""
        if not data:
            self._open.discard(number)
            del self._wires[number]
            wire.close()
            time.sleep(PAUSE)
            self._connect(request)


if __name__ == "__main__":
    _Streams(StreamOrder(**json.loads(sys.stdin.readline()))).read()
