"""Many server-sent-event watchers in a separate process: `python -m benchmarks.watchers`, order on stdin.

Says `ready` when every stream is open; then, for each event that all have seen, one line with the moments at which each
had it. Ends when stdin is closed. Raw sockets and epoll, so that it weighs as little as it can beside what is measured.
"""

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from benchmarks import REPOSITORY
from gpuaas_agent.sim.fleet import raise_file_limit

_OPEN = b": stream open"
_EVENT = b"\nevent: "


@dataclass(frozen=True, slots=True)
class WatchOrder:
    port: int
    request: str
    watchers: int


@dataclass(slots=True)
class Watchers:
    process: "subprocess.Popen[str]"

    def heard(self) -> list[float]:
        """When each of them had the next event, earliest first."""
        if self.process.stdout is None:
            raise RuntimeError("the watchers have no voice")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the watchers ended")
        moments: list[float] = json.loads(line)
        return moments


@contextmanager
def watching(order: WatchOrder) -> Iterator[Watchers]:
    command = [sys.executable, "-m", "benchmarks.watchers"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    try:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the watchers have no voice")
        process.stdin.write(json.dumps(asdict(order)) + "\n")
        process.stdin.flush()
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the watchers did not get their streams")
        yield Watchers(process)
    finally:
        process.kill()
        process.wait(10)


class _Watch:
    def __init__(self, order: WatchOrder) -> None:
        raise_file_limit(order.watchers + 1024)
        self._poll = select.epoll()
        self._wires = dict(self._connect(order) for _ in range(order.watchers))

    def _connect(self, order: WatchOrder) -> tuple[int, socket.socket]:
        wire = socket.create_connection(("127.0.0.1", order.port))
        wire.sendall(order.request.encode())
        self._poll.register(wire.fileno(), select.EPOLLIN)
        return wire.fileno(), wire

    def until_all(self, mark: bytes) -> list[float]:
        """When each had the mark; what else comes (comments that keep a stream alive) counts for nothing."""
        tails, moments = dict.fromkeys(self._wires, b""), dict[int, float]()
        while len(moments) < len(self._wires):
            for number, _ in self._poll.poll():
                data = self._wires[number].recv(65_536)
                if not data:
                    raise ConnectionError(f"a stream ended: {tails[number]!r}")
                tails[number] += data
                if mark in tails[number]:
                    moments.setdefault(number, time.time())
        return sorted(moments.values())


def _main() -> None:
    watch = _Watch(WatchOrder(**json.loads(sys.stdin.readline())))
    watch.until_all(_OPEN)
    print("ready", flush=True)
    while True:
        print(json.dumps(watch.until_all(_EVENT)), flush=True)


if __name__ == "__main__":
    _main()
