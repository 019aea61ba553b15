"""A server whom nobody calls rests: its processes wait to be told, and none looks again and again."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from system_support.server import RunningServer

REST_SECONDS = 4.0
RESTS = 4
HANG = 120.0  # seconds, after which nobody waits any more
# Who looks ten times a second wakes up 40 times in that rest; the recurring work of a process takes some ten.
MOST_WAKE_UPS = 30


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with RunningServer.start(log_level="WARNING") as running:
        time.sleep(2 * REST_SECONDS)  # what the start set off has ended
        yield running


def wake_ups(pid: int) -> int:
    """How often the process has waited for something and gone on."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def rested(pids: list[int]) -> list[int]:
    before = [wake_ups(pid) for pid in pids]
    time.sleep(REST_SECONDS)
    return [wake_ups(pid) - known for pid, known in zip(pids, before, strict=True)]


def least(pids: list[int]) -> int:
    """The fewest wake-ups of the busiest in some rests: work that came late adds to one of them, a habit to all."""
    return min(max(rested(pids)) for _ in range(RESTS))


def test_api_and_worker_do_not_look_ten_times_a_second(server: RunningServer) -> None:
    pids = server.children("api") + server.children("worker")
    assert len(pids) == 2
    assert least(pids) < MOST_WAKE_UPS


def test_the_supervisor_sleeps_until_a_child_ends_and_then_starts_it_again(server: RunningServer) -> None:
    assert rested([server.process.pid]) == [0]
    (killed,) = server.children("worker")
    os.kill(killed, signal.SIGKILL)
    deadline = time.monotonic() + HANG
    while server.children("worker") in ([], [killed]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.children("worker") not in ([], [killed])


def test_all_that_a_server_keeps_is_in_its_data_directory_which_others_cannot_list(server: RunningServer) -> None:
    data_dir = server.directory / "var"
    assert (data_dir / "postgres" / "data" / "PG_VERSION").exists()
    assert data_dir.stat().st_mode & 0o077 == 0o011
    assert (data_dir / "keys").stat().st_mode & 0o077 == 0
