"""Measures keystrokes and large output through a terminal of the platform, against plain ssh."""

import os
import pty
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from benchmarks.figures import Figure, Series, Size
from gpuaas_lab import Fleet
from gpuaas_sdk import NewAllocation
from gpuaas_sdk.terminal import TerminalStream
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.ssh_client import SshClient

HOW = """\
A bare-metal allocation on a booted lab host. Platform: `TerminalStream` of the SDK to the api over HTTP, the agent's WebSocket
over HTTPS, its ssh to the host's own sshd. Peer: `ssh -tt` on a pseudo-terminal to the same sshd. Keystrokes: a letter is typed
at a shell's prompt and waited for, 100 times a round; a person notices from about 50 ms. Flood: the time for all of
`head -c 20M /dev/zero | base64 -w 4000` to arrive. The two take turns; the first round is not counted."""
SECONDS = 60.0
KEYS = 100
MARK = b"flood-is-over"


class Side(Protocol):
    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes: ...


class PlainSsh:
    def __init__(self, ssh_client: SshClient) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(ssh_client.shell(), stdin=slave, stdout=slave, stderr=subprocess.DEVNULL)
        os.close(slave)

    def send(self, data: bytes) -> None:
        os.write(self._master, data)

    def receive(self) -> bytes:
        ready, _, _ = select.select([self._master], [], [], SECONDS)
        if not ready:
            raise TimeoutError
        return os.read(self._master, 65536)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


class OnPlatform:
    def __init__(self, stream: TerminalStream) -> None:
        self._stream = stream

    def send(self, data: bytes) -> None:
        self._stream.send(data)

    def receive(self) -> bytes:
        data = self._stream.receive(SECONDS)
        if data is None:
            raise RuntimeError(f"the terminal ended: {self._stream.end}")
        return data


def wait_for(side: Side, wanted: bytes) -> int:
    """How many bytes came up to it. Only the end of what came before is looked at again: a flood is long."""
    seen, tail = 0, b""
    while wanted not in tail:
        data = side.receive()
        seen += len(data)
        tail = tail[-len(wanted) :] + data
    return seen


def keystrokes(side: Side, count: int) -> list[float]:
    """Sorted, in milliseconds."""
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        side.send(b"x")
        wait_for(side, b"x")
        taken.append((time.perf_counter() - begun) * 1000)
    side.send(b"\x15")  # the line is taken back
    return sorted(taken)


def flood(side: Side, megabytes: int) -> float:
    begun = time.perf_counter()
    half = MARK.decode()
    side.send(f"head -c {megabytes}M /dev/zero | base64 -w 4000; echo {half[:5]}''{half[5:]}\n".encode())
    wait_for(side, MARK)
    return time.perf_counter() - begun


@contextmanager
def sides(sandbox: Sandbox, directory: Path) -> Iterator[dict[str, Side]]:
    admin, project_id = sandbox.admin, sandbox.project_id
    made = admin.allocations.create(project_id, NewAllocation(sku="h100-node"))[0]
    list(admin.allocations.follow(project_id, [made.id], SECONDS))
    ssh_client = SshClient(admin, project_id, made.id, directory)
    ssh_client.get_certificate()
    with ExitStack() as open_ones:
        stream = open_ones.enter_context(TerminalStream(admin, admin.terminals.open(project_id, made.id)))
        ssh = PlainSsh(ssh_client)
        open_ones.callback(ssh.close)
        both: dict[str, Side] = {"ssh": ssh, "terminal": OnPlatform(stream)}
        for side in both.values():
            wait_for(side, b"$ ")
        yield both


def measured(size: Size) -> Series:
    series, megabytes, keys = Series(), 1 if size.quick else 20, 10 if size.quick else KEYS
    with tempfile.TemporaryDirectory() as directory, lab_site("benchterm", 1) as (sandbox, _):
        with sides(sandbox, Path(directory)) as both:
            for number in range(size.rounds + 1):
                for name, side in both.items():
                    typed, seconds = keystrokes(side, keys), flood(side, megabytes)
                    if number:
                        series.add(f"{name}/p50", typed[len(typed) // 2])
                        series.add(f"{name}/p99", typed[-1 - len(typed) // 100])
                        series.add(f"{name}/flood", seconds)
    return series


def run(size: Size) -> list[Figure]:
    missing = Fleet.requirements()
    if missing:
        return [Figure("terminal", float("nan"), "ms", note=f"not measured: {'; '.join(missing)}")]
    series = measured(size)
    p50 = f"{series.median('terminal/p50'):.1f} ms against {series.median('ssh/p50'):.1f} ms"
    p99 = f"ssh: {series.median('ssh/p99'):.1f} ms"
    long = f"{series.median('terminal/flood'):.2f} s against {series.median('ssh/flood'):.2f} s"
    return [
        Figure("keystroke in a terminal, p50, against ssh", series.ratio("terminal/p50", "ssh/p50"), "×", note=p50),
        Figure("keystroke in a terminal, p99", series.median("terminal/p99"), "ms", 50, at_least=False, note=p99),
        Figure("20 MB in a terminal, against ssh", series.ratio("terminal/flood", "ssh/flood"), "×", note=long),
    ]
