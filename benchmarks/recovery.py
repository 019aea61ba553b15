"""Measures how long an api and a worker take to recover after the database is back, for outages of different length."""

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg

from benchmarks.figures import Figure, Size
from benchmarks.processes import family
from gpuaas_server.embedded import postgres
from gpuaas_server.embedded.postgres import EmbeddedPostgres
from system_support.server import RunningServer

HOW = """\
An api and a worker on a PostgreSQL of its own processes, which is taken away for 3, 20, 60 and 120 s: ended by SIGKILL and
started again, and, apart from that, frozen by SIGSTOP. All the while somebody reads through the API five times a second. The
clock starts when PostgreSQL answers again to a client of its own (killed), or is told to go on (frozen). "api": until a
change sent every 20 ms succeeds. "worker": until the work that this change asked for is done. Each outage once."""
LIMIT_SECONDS = 2.0
OUTAGES = (3.0, 20.0, 60.0, 120.0)
GIVE_UP_SECONDS = 120.0


@dataclass
class Site:
    """A control plane whose database the benchmark controls."""

    server: RunningServer
    directory: Path
    database: EmbeddedPostgres
    token: str = ""
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10_000)))

    def call(self, method: str, path: str, body: object = None, timeout: float = 5.0) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.request(method, f"{self.server.url}/api/v1{path}", json=body, headers=headers, timeout=timeout)

    def sign_in(self) -> None:
        grant = {"grant_type": "password", "username": self.server.admin_email, "password": self.server.admin_password}
        self.token = ""
        self.token = self.call("POST", "/auth/token", grant).json()["access_token"]

    def new_user(self) -> str:
        body = {"email": f"user{next(self.numbers)}@bench.test", "name": "U", "password": "a-long-phrase-for-a-user"}
        return str(self.call("POST", "/users", body).json()["id"])

    def work_is_done(self, user_id: str) -> bool:
        """Return whether the work that a change of this user asked for is done. What does it also removes it."""
        with psycopg.connect(self.database.url) as connection:
            return connection.execute("SELECT 1 FROM work_items WHERE subject = %s", (user_id,)).fetchone() is None

    def kill_database(self) -> None:
        self.database.process.kill()
        self.database.process.wait()

    def start_database(self) -> None:
        self.database = postgres.start(self.directory)

    def freeze_database(self) -> None:
        for pid in family(self.database.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw_database(self) -> None:
        for pid in family(self.database.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def opened() -> Iterator[Site]:
    directory = Path(tempfile.mkdtemp(prefix="gpuaas-recovery-"))
    directory.chmod(0o755)  # the database's own account must be able to enter
    database = postgres.start(directory)
    try:
        with RunningServer.start(database_url=database.url, log_level="WARNING") as server:
            site = Site(server, directory, database)
            try:
                yield site
            finally:
                site.thaw_database()
        site.database.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def somebody_reading(site: Site) -> Iterator[None]:
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.2):
            with suppress(httpx.TransportError):
                site.call("GET", "/tenants", timeout=2.0)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        over.set()
        reader.join()


def seconds_until(reached: Callable[[], bool], begun: float) -> float:
    while time.monotonic() - begun < GIVE_UP_SECONDS:
        with suppress(httpx.TransportError, psycopg.OperationalError):
            if reached():
                return time.monotonic() - begun
        time.sleep(0.02)
    return GIVE_UP_SECONDS


def recovered(site: Site, seconds: float, away: Callable[[], None], back: Callable[[], None]) -> tuple[float, float]:
    """Return the seconds until the api and until the worker work again."""
    site.sign_in()
    user_id = site.new_user()
    with somebody_reading(site):
        away()
        time.sleep(seconds)
        back()
        begun = time.monotonic()
        change = {"disabled": True}
        api = seconds_until(lambda: site.call("PATCH", f"/users/{user_id}", change, 1.0).is_success, begun)
        worker = seconds_until(lambda: site.work_is_done(user_id), begun)
    return api, worker


def run(size: Size) -> list[Figure]:
    figures = []
    outages = (1.0,) if size.quick else OUTAGES
    with opened() as site:
        ways = {
            "killed": (site.kill_database, site.start_database),
            "frozen": (site.freeze_database, site.thaw_database),
        }
        for name, way in ways.items():
            for seconds in outages:
                api, worker = recovered(site, seconds, *way)
                for part, value in (("api", api), ("worker", worker)):
                    title = f"{part} after {seconds:.0f} s, {name}"
                    figures.append(Figure(title, value, "s", LIMIT_SECONDS, at_least=False))
    return figures
