"""Api and worker wait for their database, say so once, name the cause, and go on when it is there."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from pydantic import SecretStr

from gpuaas_sdk.testing import free_port
from gpuaas_server import runtime
from gpuaas_server.embedded import postgres
from gpuaas_server.embedded.postgres import EmbeddedPostgres
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.migrations import run as migrations
from tests_support.server_processes import ServerProcess, run, running, until

HEALTH = "gpuaas.database"
DATABASE = "gpuaas_server.processes.embedded_database"
SUPERVISOR = "gpuaas_server.processes.supervisor"
OPTIONS = {"fsync": "off", "max_wal_size": "32MB", "min_wal_size": "32MB", "shared_buffers": "16MB"}


@pytest.fixture
def directory() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="gpuaas-test-"))
    os.chmod(made, 0o755)  # noqa: S103 - the database's own account must be able to enter
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def stopped(directory: Path) -> EmbeddedPostgres:
    """Migrated, and down."""
    server = postgres.start(directory, OPTIONS)
    migrations.upgrade(server.url)
    server.stop()
    return server


def outage_lines(process: ServerProcess) -> list[str]:
    return [message.split(":")[0].split(" after")[0] for message in process.messages(HEALTH)]


def test_api_and_worker_wait_for_a_database_that_is_away_when_they_start(
    directory: Path, stopped: EmbeddedPostgres
) -> None:
    with ExitStack() as stack:
        api, worker = (stack.enter_context(running(p, directory, free_port(), database_url=stopped.url)) for p in PARTS)
        assert until(api.cause, "an answer") in ("The process is starting.", "PostgreSQL does not accept connections.")
        until(lambda: api.cause() == "PostgreSQL does not accept connections.", "the cause")
        alive = api.answer("/healthz")
        assert alive is not None
        assert alive.status_code == 200
        until(lambda: outage_lines(worker), "the worker's line")
        server = postgres.start(directory, OPTIONS)
        stack.callback(server.stop)
        until(api.is_ready, "readiness")
        until(lambda: len(outage_lines(worker)) == 2, "the worker's second line")
        for process in (api, worker):
            assert outage_lines(process) == ["The database cannot be used", "The database can be used again"]


PARTS = ("api", "worker")


def test_https_answers_what_it_waits_for_by_the_certificate_of_the_last_run(
    directory: Path, stopped: EmbeddedPostgres
) -> None:
    ports = [free_port() for _ in range(3)]
    binds = {"https_bind": f"127.0.0.1:{ports[1]}", "client_certificate_bind": f"127.0.0.1:{ports[2]}"}
    secure = [f"https://127.0.0.1:{port}" for port in ports[1:]]
    with ExitStack() as first:
        first.callback(postgres.start(directory, OPTIONS).stop)
        first.enter_context(running("api", directory, ports[0], database_url=stopped.url, **binds))
        until(lambda: all(readiness(directory, url) == 200 for url in secure), "https, with its first certificate")
    with ExitStack() as stack:
        api = stack.enter_context(running("api", directory, ports[0], database_url=stopped.url, **binds))
        for url in secure:
            until(lambda url=url: readiness(directory, url) == AWAY, "the cause over https")  # type: ignore[misc]
        stack.callback(postgres.start(directory, OPTIONS).stop)
        for url in secure:
            until(lambda url=url: readiness(directory, url) == 200, "readiness over https")  # type: ignore[misc]
        assert api.process.poll() is None


AWAY = "PostgreSQL does not accept connections."


def readiness(directory: Path, url: str) -> int | str | None:
    """200, or the cause; None when nobody listens there."""
    authority = directory / "var" / "tls" / "ca.crt"
    if not authority.exists():
        return None
    try:
        answer = httpx.get(f"{url}/readyz", verify=ssl.create_default_context(cafile=str(authority)), timeout=20)
    except httpx.TransportError:
        return None
    return answer.status_code if answer.status_code == 200 else str(answer.json()["detail"])


def test_up_with_an_external_database_that_is_away_listens_and_names_the_cause(
    directory: Path, stopped: EmbeddedPostgres
) -> None:
    with ExitStack() as stack:
        up = stack.enter_context(running("up", directory, free_port(), database_url=stopped.url))
        until(lambda: up.cause() == AWAY, "the cause")
        alive = up.answer("/healthz")
        assert alive is not None
        assert alive.status_code == 200
        server = postgres.start(directory, OPTIONS)
        stack.callback(server.stop)
        until(up.is_ready, "readiness")
        told = [line["message"] for line in up.lines() if "database c" in line["message"].lower()]
        assert [message.split(":")[0].split(" after")[0] for message in told] == [
            "The database cannot be used",
            "The database can be used again",
        ]


def test_an_outage_is_two_lines_in_each_log_whatever_was_going_on(directory: Path, stopped: EmbeddedPostgres) -> None:
    server = postgres.start(directory, OPTIONS)
    administrator = first_administrator(directory, server.url)
    with ExitStack() as stack:
        api, worker = (stack.enter_context(running(p, directory, free_port(), database_url=server.url)) for p in PARTS)
        until(api.is_ready, "readiness")
        until(lambda: has_recurring_work(server), "the worker")
        token = sign_in(api, administrator)
        blocker = psycopg.connect(server.url_of("postgres", postgres.ROLE))
        stack.callback(blocker.close)
        blocker.execute("LOCK TABLE events")
        watchers = [Watcher(api, token, subject) for subject in (None, None, new_id("usr"), new_id("usr"))]
        until(lambda: all(watcher.is_open for watcher in watchers), "the streams")
        until(lambda: waiting_for_events(blocker) >= 3, "streams in the middle of their queries")
        server.process.kill()
        server.process.wait()
        watchers[0].leave()
        until(lambda: "PostgreSQL" in api.cause(), "the cause")
        for _ in range(20):
            answer = api.answer("/api/v1/auth/keys")
            assert answer is None or answer.status_code in (401, 503)
        until(lambda: outage_lines(worker), "the worker's line")
        until(lambda: all(watcher.has_ended for watcher in watchers), "the end of the streams")
        server = postgres.start(directory, OPTIONS)
        stack.callback(server.stop)
        until(api.is_ready, "readiness again")
        again = Watcher(api, token, None)
        until(lambda: again.is_open, "a stream after the outage")
        for process in (api, worker):
            until(lambda process=process: len(outage_lines(process)) == 2, "both lines")  # type: ignore[misc]
            assert [line for line in process.lines() if line["logger"] != HEALTH] == []


def waiting_for_events(connection: psycopg.Connection[tuple[object, ...]]) -> int:
    """Return how many queries of events wait for the lock. Streams that ask the same may share one."""
    sees = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FROM events%'"
    row = connection.execute(sees).fetchone()
    return int(str(row[0])) if row else 0


def first_administrator(directory: Path, database_url: str) -> dict[str, str]:
    made = run(["init"], directory, database_url=database_url)
    assert made.returncode == 0, made.stderr
    found: dict[str, str] = json.loads(made.stdout)
    return found


def sign_in(api: ServerProcess, administrator: dict[str, str]) -> str:
    grant = {"grant_type": "password", "username": administrator["email"], "password": administrator["password"]}
    return str(httpx.post(f"{api.url}/api/v1/auth/token", json=grant, timeout=60).json()["access_token"])


class Watcher:
    """Reads a stream of the platform's events, in a thread."""

    def __init__(self, api: ServerProcess, token: str, subject: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        wanted = {} if subject is None else {"subject": subject}
        self._client = httpx.Client(base_url=api.url, headers=headers, params=wanted, timeout=httpx.Timeout(60))
        self._socket: socket.socket | None = None
        self.is_open = self.has_ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(httpx.TransportError), self._client.stream("GET", "/api/v1/events") as answer:
            answer.raise_for_status()
            self._socket = answer.extensions["network_stream"].get_extra_info("socket")
            for line in answer.iter_lines():
                self.is_open = self.is_open or line == ": stream open"
        self.has_ended = True

    def leave(self) -> None:
        assert self._socket is not None
        self._socket.shutdown(socket.SHUT_RDWR)


def has_recurring_work(server: EmbeddedPostgres) -> bool:
    with psycopg.connect(server.url) as connection:
        return connection.execute("SELECT 1 FROM work_items").fetchone() is not None


def test_a_database_that_became_read_only_is_no_database_to_serve_from(
    directory: Path, stopped: EmbeddedPostgres
) -> None:
    server = postgres.start(directory, OPTIONS)
    with ExitStack() as stack:
        stack.callback(server.stop)
        api = stack.enter_context(running("api", directory, free_port(), database_url=server.url))
        until(api.is_ready, "readiness")
        set_read_only(server, "on")
        until(lambda: api.cause() == READ_ONLY, "the cause")
        set_read_only(server, "off")
        until(api.is_ready, "readiness again")
        again = datetime.now(UTC)
        until(lambda: hears_agents_since(server, again), "signs of life of agents")


READ_ONLY = "PostgreSQL is read-only: it is a standby, or was set so."


def test_api_and_worker_wait_for_a_database_that_is_read_only_when_they_start(
    directory: Path, stopped: EmbeddedPostgres
) -> None:
    """The schema is new, so that both must write before they can work."""
    server = postgres.start(directory, OPTIONS)
    with ExitStack() as stack:
        stack.callback(server.stop)
        set_read_only(server, "on")
        api, worker = (stack.enter_context(running(p, directory, free_port(), database_url=server.url)) for p in PARTS)
        until(lambda: api.cause() == READ_ONLY, "the cause")
        until(lambda: outage_lines(worker), "the worker's line")
        set_read_only(server, "off")
        until(api.is_ready, "readiness")
        until(lambda: has_recurring_work(server), "the worker's first write")
        for process in (api, worker):
            until(lambda process=process: len(outage_lines(process)) == 2, "both lines")  # type: ignore[misc]
            assert process.process.poll() is None
            assert outage_lines(process) == ["The database cannot be used", "The database can be used again"]
            assert [line for line in process.lines() if line["logger"] != HEALTH] == []


async def test_a_database_that_goes_away_before_its_schema_was_read_is_waited_for(
    directory: Path, stopped: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, refuse_old_schema = [postgres.start(directory, OPTIONS)], runtime._refuse_old_schema
    looks: list[str] = []

    async def look(platform: Platform) -> None:
        looks.append(platform.database.health.cause)
        if len(looks) == 1:
            servers[0].process.kill()
            servers[0].process.wait()
        elif len(looks) == 2:
            servers.append(await asyncio.to_thread(postgres.start, directory, OPTIONS))
        await refuse_old_schema(platform)

    monkeypatch.setattr(runtime, "_refuse_old_schema", look)
    settings = Settings(database_url=SecretStr(stopped.url), data_dir=directory / "var")
    try:
        async with asyncio.timeout(120), runtime.running_platform(settings) as platform:
            while platform.database.health.cause:  # of the write probe, which looks again each second
                await asyncio.sleep(0.05)
    finally:
        servers[-1].stop()
    assert looks[0] == ""
    assert all(looks[1:])


def test_up_goes_on_while_its_postgresql_does_not_start(directory: Path) -> None:
    with running("up", directory, free_port()) as up:
        until(up.is_ready, "readiness")
        cluster = Path(postgres.url_in(directory / "var").partition("host=")[2]).parent / "data"
        control, away = cluster / "global" / "pg_control", cluster / "global" / "away"
        control.rename(away)
        os.kill(int((cluster / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        until(lambda: "PostgreSQL" in up.cause(), "the cause")
        [worker] = parts_of(up, "worker")
        os.kill(worker, signal.SIGKILL)
        until(lambda: set(parts_of(up, "worker")) - {worker}, "another worker")
        away.rename(control)
        until(up.is_ready, "readiness again")
        until(lambda: len(up.messages(DATABASE)) > 1, "the supervisor's second line")
        ended, *causes, again = up.messages(DATABASE)
        assert ended == "PostgreSQL ended; starting it again"
        assert again.startswith("PostgreSQL answers again after")
        assert len(causes) < 2, "the cause is told once, when it takes long"
        assert all("PostgreSQL does not start" in cause and "pg_control" in cause for cause in causes)
        assert up.messages(SUPERVISOR) == ["worker ended with -9; starting it again"]
        assert {line["logger"] for line in up.lines()} <= {DATABASE, SUPERVISOR, HEALTH}


def parts_of(up: ServerProcess, name: str) -> list[int]:
    found = []
    for child in psutil.Process(up.process.pid).children():
        with suppress(psutil.Error):
            if name in child.cmdline():
                found.append(child.pid)
    return found


def hears_agents_since(server: EmbeddedPostgres, moment: datetime) -> bool:
    with psycopg.connect(server.url) as connection:
        row = connection.execute("SELECT max(flushed_at) FROM agent_listeners").fetchone()
    return row is not None and row[0] is not None and row[0] > moment


def set_read_only(server: EmbeddedPostgres, value: str) -> None:
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        connection.execute("SELECT pg_reload_conf()")


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own needs root")
def test_a_full_disk_is_named_and_forgotten_when_there_is_room_again(directory: Path) -> None:
    disk = directory / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "gpuaas-test", str(disk)], check=True)
    with ExitStack() as stack:
        stack.callback(subprocess.run, ["umount", "-l", str(disk)], check=False)
        server = postgres.start(disk, OPTIONS)
        stack.callback(server.stop)
        migrations.upgrade(server.url)
        administrator = first_administrator(directory, server.url)
        api = stack.enter_context(running("api", directory, free_port(), database_url=server.url))
        until(api.is_ready, "readiness")
        token = sign_in(api, administrator)
        fill(disk / "ballast")
        refused = until(lambda: refused_write(api, token), "the refusal of a write")
        assert (refused.status_code, refused.json()["detail"]) == (503, FULL), refused.text
        assert refused.headers["Retry-After"]
        until(lambda: api.cause() == FULL, "the cause")
        (disk / "ballast").unlink()
        until(api.is_ready, "readiness again")
        assert refused_write(api, token) is None
        assert any("no disk space left" in message for message in api.messages(HEALTH))


FULL = "PostgreSQL has no disk space left."


def refused_write(api: ServerProcess, token: str) -> httpx.Response | None:
    """Create a tenant; return the answer if that was refused. Small writes may still fit into files that are there."""
    body = {"slug": f"t-{secrets.token_hex(6)}", "name": "T"}
    answer = httpx.post(
        f"{api.url}/api/v1/tenants", json=body, headers={"Authorization": f"Bearer {token}"}, timeout=60
    )
    return None if answer.is_success else answer


def fill(path: Path) -> None:
    """Until there is no room for another block."""
    size = 1 << 20
    with path.open("wb", buffering=0) as file:
        while size >= 4096:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
