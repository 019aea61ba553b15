"""A lightweight HTTP load: raw sockets and epoll in a separate process (`python -m benchmarks.load`, order on stdin).

Requests are spread over many kept-alive connections, so that api processes that share a port share the load.
"""

import json
import select
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass, field

from benchmarks import REPOSITORY

MARK = b"@@@@@@@@@@@@@@@@"  # replaced by a number that no other request has


@dataclass(frozen=True, slots=True)
class Order:
    port: int
    request: str  # whole, with MARK where each must differ
    seconds: float
    in_flight: int = 4
    connections: int = 32
    warm_up: float = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    per_second: float
    statuses: dict[str, int]
    p50_ms: float
    p99_ms: float
    example: str = ""


def request(method: str, path: str, token: str, body: str = "", keyed: bool = False) -> str:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}"]
    if keyed:
        lines.append(f"Idempotency-Key: bench-{MARK.decode()}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines) + "\r\n\r\n" + body


def drive(order: Order) -> Outcome:
    """Run the load in its own process and wait for its answer."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(asdict(order)).encode(),
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        check=True,
    )
    return Outcome(**json.loads(done.stdout))


@dataclass(slots=True)
class _Wire:
    socket: socket.socket
    received: bytearray = field(default_factory=bytearray)
    sent_at: float = 0.0

    def status(self) -> bytes | None:
        """The status when the whole answer is there."""
        head_end = self.received.find(b"\r\n\r\n")
        if head_end < 0:
            return None
        head = bytes(self.received[:head_end]).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        return head[9:12] if len(self.received) >= head_end + 4 + int(length or 0) else None


class _Run:
    def __init__(self, order: Order) -> None:
        self._order = order
        before, mark, after = order.request.encode().partition(MARK)
        self._before, self._after, self._keyed = before, after, bool(mark)
        self._number = time.time_ns()
        self._idle: deque[_Wire] = deque(self._connect() for _ in range(order.connections))
        self._busy: dict[int, _Wire] = {}
        self._poll = select.epoll()
        self._took: list[float] = []
        self._statuses: Counter[str] = Counter()
        self._example = ""

    def _connect(self) -> _Wire:
        wire = socket.create_connection(("127.0.0.1", self._order.port))
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Wire(wire)

    def _send(self) -> None:
        wire = self._idle.popleft()
        wire.received.clear()
        self._number += 1
        mark = b"%016x" % self._number if self._keyed else b""
        wire.sent_at = time.perf_counter()
        wire.socket.sendall(self._before + mark + self._after)
        self._busy[wire.socket.fileno()] = wire

    def run(self) -> Outcome:
        for wire in self._idle:
            self._poll.register(wire.socket.fileno(), select.EPOLLIN)
        for _ in range(self._order.in_flight):
            self._send()
        self._until(time.perf_counter() + self._order.warm_up)
        self._took.clear()
        self._statuses.clear()
        begun = time.perf_counter()
        self._until(begun + self._order.seconds)
        seconds = time.perf_counter() - begun
        took = sorted(self._took) or [0.0]
        good = sum(n for status, n in self._statuses.items() if status.startswith("2"))
        p50, p99 = took[len(took) // 2], took[min(len(took) - 1, int(len(took) * 0.99))]
        return Outcome(good / seconds, dict(self._statuses), p50 * 1000, p99 * 1000, self._example)

    def _until(self, end: float) -> None:
        while time.perf_counter() < end:
            for number, _ in self._poll.poll(1.0):
                self._receive(self._busy[number])

    def _receive(self, wire: _Wire) -> None:
        data = wire.socket.recv(262_144)
        if not data:
            raise ConnectionError("the server closed a connection")
        wire.received += data
        status = wire.status()
        if status is None:
            return
        self._took.append(time.perf_counter() - wire.sent_at)
        self._statuses[status.decode()] += 1
        if not status.startswith(b"2") and not self._example:
            self._example = wire.received.decode(errors="replace")[-600:]
        del self._busy[wire.socket.fileno()]
        self._idle.append(wire)
        self._send()


if __name__ == "__main__":
    print(json.dumps(asdict(_Run(Order(**json.load(sys.stdin))).run())))
