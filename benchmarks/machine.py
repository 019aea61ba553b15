"""The machine's own speed, measured beside the figures: what differs between two runs may be the machine.

Fixed pieces of work that have nothing to do with the platform. They are rates: more is faster.
"""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.database import pgbench_binary
from gpuaas_server.embedded import postgres

SECONDS = 0.3
PGBENCH_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Speed:
    """What can be measured within a second, before each section."""

    load: float  # average of the last minute
    python: float  # rounds of a fixed loop a second, one core
    memory: float  # GB copied a second
    syscalls: float  # thousands a second

    def __str__(self) -> str:
        return (
            f"load {self.load:.1f}, Python {self.python:.0f} rounds/s, memory {self.memory:.1f} GB/s,"
            f" {self.syscalls:.0f}k syscalls/s"
        )


@dataclass(frozen=True, slots=True)
class Storage:
    """What takes some seconds, at the beginning and at the end of a run."""

    fsyncs: float  # of 8 KiB, a second
    pgbench: float  # TPC-B-like transactions a second, 4 clients, durable commits

    def __str__(self) -> str:
        return f"{self.fsyncs:.0f} fsyncs/s, pgbench {self.pgbench:.0f} transactions/s"


def measure_speed() -> Speed:
    source = bytearray(64 << 20)
    return Speed(
        load=os.getloadavg()[0],
        python=max(_rate(_fixed_work) for _ in range(3)),
        memory=max(_rate(lambda: bytes(source)) for _ in range(3)) * len(source) / 1e9,
        syscalls=max(_rate(_thousand_calls) for _ in range(3)),
    )


def measure_storage(seconds: int = PGBENCH_SECONDS) -> Storage:
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)  # the database's own account must be able to enter
        return Storage(fsyncs=_fsync_rate(Path(folder) / "file"), pgbench=_pgbench_rate(Path(folder), seconds))


def _rate(work: Callable[[], object], seconds: float = SECONDS) -> float:
    done, begun = 0, time.perf_counter()
    while (took := time.perf_counter() - begun) < seconds:
        work()
        done += 1
    return done / took


def _fixed_work() -> int:
    """Integers, a dictionary and texts, as a request does them."""
    counts: dict[str, int] = {}
    for number in range(2_000):
        key = f"key-{number % 97}"
        counts[key] = counts.get(key, 0) + number * number % 7
    return sum(sorted(counts.values()))


def _thousand_calls() -> None:
    for _ in range(1_000):
        os.getppid()


def _fsync_rate(file: Path) -> float:
    block = bytes(8192)
    with file.open("wb", buffering=0) as opened:

        def write_one() -> None:
            opened.seek(0)
            opened.write(block)
            os.fdatasync(opened.fileno())

        return _rate(write_one, 1.0)


def _pgbench_rate(folder: Path, seconds: int) -> float:
    server = postgres.start(folder)
    try:
        place = [str(pgbench_binary()), "-h", str(server.socket_dir), "-U", "postgres", "postgres"]
        subprocess.run([*place, "-i", "-q", "-s", "4"], capture_output=True, check=True)
        timed = [*place, "-n", "-c", "4", "-j", "2", "-T", str(seconds)]
        said = subprocess.run(timed, capture_output=True, text=True, check=True).stdout
    finally:
        server.stop()
    found = re.search(r"tps = ([0-9.]+)", said)
    if found is None:
        raise RuntimeError(f"pgbench said nothing useful: {said}")
    return float(found.group(1))
