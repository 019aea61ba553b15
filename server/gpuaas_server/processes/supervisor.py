"""`gpuaas-server up`: embedded PostgreSQL (unless a URL is set), api, worker and apps in one process group, until Ctrl-C.

A child that dies is started again; children die with the supervisor (PDEATHSIG), so that nothing is left behind.
Loading is most of what a start takes, so children load while the database starts, and stay paused until it is ready.
"""

import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from gpuaas_server.embedded import postgres
from gpuaas_server.kernel.child_process import end_with_parent
from gpuaas_server.kernel.database_health import describe_failure
from gpuaas_server.kernel.logs import configure_logs
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.migrations import run as migrations
from gpuaas_server.processes import apps
from gpuaas_server.processes.data_lock import DataDirectoryLock
from gpuaas_server.processes.embedded_database import EmbeddedDatabase

log = logging.getLogger(__name__)

RESTART_PAUSE = 0.2
DATABASE_PAUSE = 0.25
STOP_SECONDS = 10.0
API_PAUSES = (0.25, 5.0)  # between looks whether the api answers: the first, and the longest


@dataclass(slots=True)
class Child:
    name: str
    arguments: list[str]
    answers: bool = False  # people wait for it
    is_client: bool = False  # of the api: it starts when the api answers, and stops before it
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    restarts: int = 0
    due_at: float | None = None  # when it is started again, after it ended

    def tell(self, cause: str) -> None:
        """Tell the paused child the cause, which it gives when its readiness is queried."""
        if self.process is not None and self.process.stdin is not None:
            with suppress(BrokenPipeError):  # it ended; the next look starts it again
                self.process.stdin.write(" ".join(cause.split()).encode() + b"\n")
                self.process.stdin.flush()

    def release(self) -> None:
        """Release the child, which may still be loading: from now on it may use the database."""
        self.tell("")
        if self.process is not None and self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()


class SignalWaiter:
    """Waits for the next signal to this process, the end of a child included, instead of looking again and again."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler Python is not told of it

    def wait(self, seconds: float | None) -> None:
        """Wait until a signal has come since the last call, or until the time is over."""
        select.select([self._reader], [], [], seconds)
        with suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass


def address(settings: Settings) -> str:
    """Return the address that people open: the public URL, or that of a listener on this machine."""
    if settings.public_url:
        return settings.public_url
    return f"http://{settings.http_bind}" if settings.http_bind else f"https://{settings.https_bind}"


@dataclass(slots=True)
class Supervisor:
    settings: Settings
    admin_file: Path | None = None
    say: Callable[[str], None] = print
    database: EmbeddedDatabase | None = None
    children: list[Child] = field(default_factory=list)
    stopping: bool = False
    _api_pause: float = API_PAUSES[0]

    def run(self) -> int:
        configure_logs(self.settings.log_level)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        lock = DataDirectoryLock(self.settings.data_dir)
        lock.acquire()
        signals = SignalWaiter()
        try:
            self._start()
            while not self.stopping:
                signals.wait(self._pause())
        finally:
            self._shut_down()
            lock.release()
        return 0

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def _pause(self) -> float | None:
        """Start the children that are due, and return when to look again; None: when a child ends."""
        if self.stopping:
            return 0
        database = self.database.revive() if self.database is not None else None
        pauses = [database, *(self._revive(child) for child in self.children)]
        if database is None:
            pauses.append(self._start_clients())
        return min((pause for pause in pauses if pause is not None), default=None)

    def _start_clients(self) -> float | None:
        """Start those that wait for the api, once it answers. Return the seconds until the next look."""
        waiting = [child for child in self.children if child.is_client and child.process is None]
        if not waiting:
            return None
        if apps.api_answers(self.settings):
            for child in waiting:
                self._spawn(child)
                child.release()
            return None
        pause, self._api_pause = self._api_pause, min(2 * self._api_pause, API_PAUSES[1])
        return pause

    def _start(self) -> None:
        self.children = self._planned()
        first = [child for child in self.children if child.answers]
        for child in first:
            self._spawn(child)
        if self.settings.database_url is None:
            self.database = EmbeddedDatabase(self.settings.data_dir)
        found = self._found_revision()
        migrations.refuse_development_revision(found)
        if found != migrations.head() or not self._initialised().exists():
            self._initialise()
        if self.stopping:
            return
        for child in first:
            child.release()
        for child in self.children:  # only now: while they load, they take cores from the api
            if not child.answers and not child.is_client:
                self._spawn(child)
                child.release()
        if apps.are_wanted(self.settings):
            command = [sys.executable, "-m", "gpuaas_server.main", "apps", "--paused"]
            self.children.append(Child("apps", command, is_client=True))
        self.say(f"Console and API: {address(self.settings)}")

    def _found_revision(self) -> str | None:
        """Wait for the database as long as it takes, and say so once."""
        since, told = 0.0, ""
        while not self.stopping:
            try:
                found = migrations.current(self._database_url())
            except psycopg.OperationalError as error:
                cause = describe_failure(error)
                if not since:
                    since = time.monotonic()
                    log.warning(f"The database cannot be used: {cause} Waiting for it.")
                if cause != told:
                    told = cause
                    for child in self.children:
                        child.tell(cause)
                time.sleep(DATABASE_PAUSE)
            else:
                if since:
                    log.warning(f"The database can be used again after {time.monotonic() - since:.1f} s.")
                return found
        return None

    def _planned(self) -> list[Child]:
        command = [sys.executable, "-m", "gpuaas_server.main"]
        children = [
            Child(f"api-{n}", [*command, "api", "--paused"], answers=True) for n in range(self.settings.api_processes)
        ]
        children.append(Child("worker", [*command, "worker", "--paused"]))
        if self.settings.registry_bind:
            children.append(Child("registry", [*command, "registry", "--paused"]))
        return children

    def _database_url(self) -> str:
        if self.settings.database_url is not None:
            return self.settings.database_url.get_secret_value()
        return postgres.url_in(self.settings.data_dir)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "GPUAAS_DATABASE_URL": self._database_url()}

    def _initialised(self) -> Path:
        return self.settings.data_dir / ".initialised"

    def _initialise(self) -> None:
        """Migrate, make keys and the first administrator; in a process of its own, since it is seldom needed."""
        if self.stopping:
            return
        command = [sys.executable, "-m", "gpuaas_server.main", "init"]
        if self.admin_file is not None:
            command += ["--admin-file", str(self.admin_file)]
        result = subprocess.run(command, env=self._environment(), stdout=subprocess.PIPE, check=False)
        if result.returncode != 0:
            raise StartFailed("the database could not be prepared; the lines above say why")
        admin = json.loads(result.stdout or b"{}")
        if admin:
            self._show_first_admin(admin)
        self._initialised().touch(mode=0o600)

    def _show_first_admin(self, admin: dict[str, str]) -> None:
        self.say("First administrator (shown once, change it with `gpuaas password`):")
        self.say(f"  user      {admin['email']}")
        self.say(f"  password  {admin['password']}")

    def _spawn(self, child: Child) -> None:
        child.started_at = time.monotonic()
        child.process = subprocess.Popen(
            child.arguments,
            env=self._environment(),
            stdin=subprocess.PIPE,
            preexec_fn=end_with_parent(own_group=True),
        )

    def _revive(self, child: Child) -> float | None:
        """Start the child again if it ended, after a pause if it did not live long. Return the seconds until then."""
        if child.process is None or child.process.poll() is None:
            return None
        now = time.monotonic()
        if child.due_at is None:
            child.restarts = 0 if now - child.started_at > 10 else child.restarts + 1
            child.due_at = now + (min(RESTART_PAUSE * 2**child.restarts, 5.0) if child.restarts > 1 else 0)
            log.warning(f"{child.name} ended with {child.process.returncode}; starting it again")
        if now < child.due_at:
            return child.due_at - now
        child.due_at = None
        self._spawn(child)
        child.release()
        return None

    def _shut_down(self) -> None:
        for clients in (True, False):
            self._end([child for child in self.children if child.is_client is clients])
        if self.database is not None:
            self.database.stop()

    def _end(self, children: Sequence[Child]) -> None:
        running = [child.process for child in children if child.process is not None]
        for process in running:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
