"""The platform under attack: two apis and two workers over one embedded PostgreSQL, each a process of its own.

A service manager's loop starts again what has ended; the nemesis kills, freezes and steps clocks one by one.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from chaos.process import used_offset, write_offset
from gpuaas_sdk.child_process import end_with_parent
from gpuaas_sdk.testing import free_port
from gpuaas_server.embedded import postgres

TESTS = Path(__file__).parents[1]
LEASE_SECONDS = 2.0
NODE_LOST_SECONDS = 15
SETTINGS = {
    "work_lease_seconds": str(LEASE_SECONDS),
    "node_lost_seconds": str(NODE_LOST_SECONDS),
    "operation_lease_seconds": "5",
    "login_rate_per_minute": "100000",
    "token_minutes": "60",
    "worker_metrics_bind": "",
    "log_level": "WARNING",
}
# Small enough for the file system that is filled up.
DATABASE = {"max_wal_size": "96MB", "min_wal_size": "32MB", "shared_buffers": "64MB"}
DISK = "384m"
START_SECONDS, START_TRIES = 300.0, 3
Result = TypeVar("Result")


@dataclass
class Part:
    """A process that is started again when it ends, unless somebody keeps it down."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log_file: Path
    clock_file: Path
    process: subprocess.Popen[bytes] | None = None
    pids: list[int] = field(default_factory=list)
    kept_down: bool = False

    @property
    def pid(self) -> int:
        return self.pids[-1]

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=log, stderr=log, cwd=TESTS, preexec_fn=end_with_parent()
            )
        self.pids.append(self.process.pid)

    def freeze(self) -> bool:
        """Stop it, and tell whether it has stopped: a signal takes a moment to reach a process."""
        self.signal(signal.SIGSTOP)
        return is_stopped(self.pid)

    def signal(self, number: int) -> None:
        if self.process is not None and self.alive:
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(10)

    def step_clock(self, seconds: float) -> None:
        write_offset(self.clock_file, seconds)

    def has_clock_stepped(self, seconds: float) -> bool:
        return used_offset(self.clock_file) == seconds


class Platform:
    """Started by `running_platform`. All processes are started by one thread: they end when that thread ends."""

    def __init__(self, directory: Path, faults: Mapping[str, Sequence[str]]) -> None:
        self.directory = directory
        self.disk = directory / "var"
        self.small_disk = False
        self.ports = {"api-1": free_port(), "api-2": free_port()}
        self.urls = {name: f"http://127.0.0.1:{port}" for name, port in self.ports.items()}
        self.faults = dict(faults)  # of the parts that have any
        self.database: postgres.EmbeddedPostgres | None = None
        self.database_kept_down = False
        self.database_starts = 0
        self.parts: dict[str, Part] = {}
        self.admin_email = self.admin_password = ""
        self._starter = ThreadPoolExecutor(1, "starter")
        self._manager: asyncio.Task[None] | None = None

    async def run_in_starter(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._starter, call)

    def url_of(self, name: str) -> str:
        return f"{postgres.url_in(self.disk)}&application_name={name}"

    async def open(self) -> None:
        self.disk.mkdir(mode=0o755)
        self.small_disk = await self.run_in_starter(partial(mount_small_disk, self.disk))
        await self.start_database()
        await self.run_in_starter(self._initialise)
        for name in ("api-1", "api-2", "worker-1", "worker-2"):
            self._plan(name)
        for part in self.parts.values():
            await self.run_in_starter(part.start)
        self._manager = asyncio.create_task(self._keep_running())
        for name in self.urls:
            await self.wait_ready(name)

    async def close(self) -> None:
        if self._manager is not None:
            self._manager.cancel()
            with suppress(asyncio.CancelledError):
                await self._manager
        for part in self.parts.values():
            part.signal(signal.SIGCONT)
            part.signal(signal.SIGTERM)
        await self.run_in_starter(self._wait_for_parts)
        if self.database is not None:
            self.thaw_database()
            await self.run_in_starter(self.database.stop)
        if self.small_disk:
            await self.run_in_starter(partial(subprocess.run, ["umount", "--lazy", str(self.disk)], check=False))
        self._starter.shutdown()

    def _wait_for_parts(self) -> None:
        for part in self.parts.values():
            if part.process is not None:
                try:
                    part.process.wait(15)
                except subprocess.TimeoutExpired:
                    part.kill()

    def _environment(self, name: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("GPUAAS_")}
        own = {
            "data_dir": str(self.disk),
            "database_url": self.url_of(name),
            "agent_urls": json.dumps(list(self.urls.values())),
            "http_bind": f"127.0.0.1:{self.ports.get(name, 0)}",
            **SETTINGS,
        }
        return {**kept, "PYTHONPATH": str(TESTS), **{f"GPUAAS_{key.upper()}": value for key, value in own.items()}}

    def _initialise(self) -> None:
        command = [sys.executable, "-m", "gpuaas_server.main", "init"]
        done = subprocess.run(command, env=self._environment("init"), stdout=subprocess.PIPE, check=True)
        admin = json.loads(done.stdout)
        self.admin_email, self.admin_password = admin["email"], admin["password"]

    def _plan(self, name: str) -> None:
        clock_file = self.directory / f"{name}.clock"
        write_offset(clock_file, 0.0)
        command = [sys.executable, "-m", "chaos.process", "--clock", str(clock_file)]
        for fault in self.faults.get(name, ()):
            command += ["--fault", fault]
        command.append(name.partition("-")[0])
        log_file = self.directory / f"{name}.log"
        self.parts[name] = Part(name, command, self._environment(name), log_file, clock_file)

    async def _keep_running(self) -> None:
        """What a service manager does: a part that ended is started again after a moment, the database too."""
        while True:
            await asyncio.sleep(0.25)
            for part in self.parts.values():
                if not part.alive and not part.kept_down:
                    await self.run_in_starter(part.start)
            if not self.database_kept_down and not self.database_alive:
                with suppress(RuntimeError, OSError):
                    await self.start_database()

    @property
    def database_alive(self) -> bool:
        return self.database is not None and self.database.process.poll() is None

    async def start_database(self) -> None:
        self.database = await self.run_in_starter(partial(postgres.start, self.disk, DATABASE))
        self.database_starts += 1

    def database_pids(self) -> list[int]:
        """The postmaster first: while it is stopped, it makes no new ones."""
        if self.database is None or not self.database_alive:
            return []
        parent = self.database.process.pid
        return [parent, *children_of(parent)]

    def freeze_database(self) -> bool:
        """Stop all its processes, and tell whether none of them runs. Called until it is so: the postmaster may have started
        a child in the moment before its own signal reached it."""
        pids = self.database_pids()
        running = [pid for pid in pids if not runs_no_more(pid)]
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        return bool(pids) and not running

    def thaw_database(self) -> None:
        for pid in self.database_pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    async def wait_ready(self, name: str) -> None:
        """For as long as it takes on a busy machine; what ends again and again will not come."""
        deadline = time.monotonic() + START_SECONDS
        while not await asyncio.to_thread(is_ready, self.urls[name]):
            if len(self.parts[name].pids) > START_TRIES or time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not become ready: {self.log_tail()}")
            await asyncio.sleep(0.1)

    def log_tail(self) -> str:
        return "\n".join(f"{p.name}: {p.log_file.read_text(errors='replace')[-800:]}" for p in self.parts.values())


def mount_small_disk(place: Path) -> bool:
    """A file system of its own for all data, so small that it can be filled. Needs root; False without."""
    if os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "chaos", str(place)]
    return subprocess.run(command, check=False).returncode == 0


def state_of(pid: int) -> str:
    """Return the kernel's letter for the state of a process, or nothing for one that is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def is_stopped(pid: int) -> bool:
    return state_of(pid) == "T"


def runs_no_more(pid: int) -> bool:
    """Tell whether the process is stopped or has ended: a child that ended stays a zombie while its parent is stopped."""
    return state_of(pid) in ("T", "Z", "X", "")


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2):  # noqa: S310
            return True
    except OSError:
        return False


def children_of(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(entry.name))
    return found


def new_directory() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))  # short: it has the database's socket
    directory.chmod(0o755)  # the database's own account must be able to enter
    return directory


@asynccontextmanager
async def running_platform(faults: Mapping[str, Sequence[str]]) -> AsyncIterator[Platform]:
    platform = Platform(new_directory(), faults)
    try:
        await platform.open()
        yield platform
    finally:
        await platform.close()
        shutil.rmtree(platform.directory, ignore_errors=True)
