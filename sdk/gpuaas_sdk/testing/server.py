"""A real control plane in processes of its own: `gpuaas-server up` on a free port, with its first administrator."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk import Client, PasswordCredentials
from gpuaas_sdk.testing.child_process import ending_with_test
from gpuaas_sdk.testing.ports import free_port
from gpuaas_sdk.testing.prepared_data import ADMIN_FILE, DATA, copy_prepared_data

WORKER_ADDRESS_FILE = "worker-metrics.address"
START_SECONDS = 180.0  # guards against a hang: on a busy machine a start is slow


@dataclass
class RunningServer:
    """`with RunningServer.start() as server:`; `server.admin()` is a signed-in client."""

    process: subprocess.Popen[bytes]
    directory: Path
    url: str
    log_file: Path
    admin_email: str = ""
    admin_password: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls, **settings: str) -> "RunningServer":
        directory = Path(tempfile.mkdtemp(prefix="gpuaas-system-"))
        directory.chmod(0o755)  # the database's account must be able to enter
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        environment = {
            **os.environ,
            "GPUAAS_DATA_DIR": str(directory / DATA),
            "GPUAAS_HTTP_BIND": f"127.0.0.1:{port}",
            "GPUAAS_AGENT_URLS": json.dumps([url]),
            "GPUAAS_LOG_LEVEL": "INFO",
            "GPUAAS_PLATFORM_APPS": "none",  # a test of these apps turns them on
            **{f"GPUAAS_{name.upper()}": value for name, value in settings.items()},
        }
        environment.pop("GPUAAS_DATABASE_URL", None) if "database_url" not in settings else None
        copy_prepared_data(directory, settings, cls._initialise)
        log_file = directory / "server.log"
        server = cls(cls._spawn(environment, directory, log_file), directory, url, log_file, environment=environment)
        try:
            server.wait_ready()
        except BaseException:  # the caller has no object yet with which to stop it
            server.__exit__()
            raise
        if (directory / ADMIN_FILE).exists():  # absent on a replica, see `replica_of`
            admin = json.loads((directory / ADMIN_FILE).read_text())
            server.admin_email, server.admin_password = admin["email"], admin["password"]
        return server

    @classmethod
    def _initialise(cls, directory: Path) -> None:
        """Runs a server in the directory until it is ready once, so that its data are there."""
        bind = f"127.0.0.1:{free_port()}"
        environment = {**os.environ, "GPUAAS_DATA_DIR": str(directory / DATA), "GPUAAS_HTTP_BIND": bind}
        environment["GPUAAS_PLATFORM_APPS"] = "none"
        environment.pop("GPUAAS_DATABASE_URL", None)
        log_file = directory / "server.log"
        server = cls(cls._spawn(environment, directory, log_file), directory, f"http://{bind}", log_file)
        try:
            server.wait_ready()
        finally:
            server.stop()
        (directory / DATA / WORKER_ADDRESS_FILE).unlink(missing_ok=True)  # of a worker that has ended

    @classmethod
    def replica_of(cls, first: "RunningServer", **settings: str) -> "RunningServer":
        """Starts a second server, as on another machine: its own api and worker on the first one's database."""
        key_file = str(first.directory / "var" / "keys" / "master.key")
        shared = {"database_url": first.database_url(), "master_key_file": key_file}
        server = cls.start(**settings, **shared)
        server.admin_email, server.admin_password = first.admin_email, first.admin_password
        return server

    def database_url(self) -> str:
        """Return the database URL that its api processes use."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for pid in self.children("api"):
                for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    name, _, value = entry.partition(b"=")
                    if name == b"GPUAAS_DATABASE_URL":
                        return value.decode()
            time.sleep(0.05)
        raise RuntimeError("no api process is running, so its database is unknown")

    @staticmethod
    def _spawn(environment: dict[str, str], directory: Path, log_file: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "gpuaas_server.main", "up", "--admin-file", str(directory / ADMIN_FILE)]
        with log_file.open("ab") as log:
            return subprocess.Popen(ending_with_test(command), env=environment, stdout=log, stderr=log)

    def restart(self) -> None:
        """Starts again on the same data, after a stop or a kill."""
        self.process = self._spawn(self.environment, self.directory, self.log_file)
        self.wait_ready()

    def wait_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=2):  # noqa: S310
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not become ready: {self.log_file.read_text()[-3000:]}")

    def admin(self) -> Client:
        return Client(self.url, credentials=PasswordCredentials(self.admin_email, self.admin_password))

    def children(self, name: str) -> list[int]:
        """Return the process ids of a part: api, worker or postgres."""
        found = []
        for pid in _children_of(self.process.pid):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it has ended since
            last = {part.decode(errors="replace") for part in command}
            if name in last or (name == "postgres" and command[0].endswith(b"/postgres")):
                found.append(pid)
        return found

    def kill(self, name: str) -> None:
        """Kills a part with SIGKILL; the supervisor restarts it."""
        for pid in self.children(name):
            os.kill(pid, signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(30)

    def __enter__(self) -> "RunningServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def _children_of(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found
