"""A process that cannot start says why in lines of JSON, with what to do, and ends with a code that is not zero."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpuaas_server.embedded.postgres import EmbeddedPostgres
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.processes.data_lock import DataDirectoryLock
from tests_support import server_processes


def refusal(arguments: list[str], directory: Path, **settings: str) -> str:
    """The last message; every line must be JSON, and none may hold a traceback."""
    ended = server_processes.run(arguments, directory, **settings)
    assert ended.returncode == 1, ended.stderr
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert all("exception" not in line for line in lines), ended.stderr
    assert lines[-1]["level"] == "ERROR"
    return str(lines[-1]["message"])


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("part", ["api", "worker"])
def test_wrong_settings_are_named(tmp_path: Path, part: str) -> None:
    said = refusal([part], tmp_path, pool_size="1")
    assert "GPUAAS_POOL_SIZE" in said
    assert "gpuaas-server settings" in said


def test_a_part_without_a_database_is_told_where_to_get_one(tmp_path: Path) -> None:
    assert "GPUAAS_DATABASE_URL is not set" in refusal(["worker"], tmp_path)


def test_plain_http_beyond_loopback_is_refused(tmp_path: Path, fresh_database_url: str) -> None:
    said = refusal(["api"], tmp_path, database_url=fresh_database_url, http_bind="0.0.0.0:8080")
    assert "GPUAAS_HTTPS_BIND" in said


def test_a_taken_port_is_named(tmp_path: Path, fresh_database_url: str, taken_port: int) -> None:
    said = refusal(["api"], tmp_path, database_url=fresh_database_url, http_bind=f"127.0.0.1:{taken_port}")
    assert f"127.0.0.1:{taken_port} cannot be listened on" in said


@pytest.mark.parametrize("part", ["api", "worker"])
def test_a_database_without_a_schema_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, fresh_database_url: str, part: str
) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("DELETE FROM alembic_version")
    said = refusal([part], tmp_path, database_url=fresh_database_url, http_bind="127.0.0.1:0")
    assert "at revision none" in said
    assert "gpuaas-server migrate" in said


@pytest.mark.parametrize(
    ("part", "revision"), [("up", "0055"), ("api", "0175"), ("worker", "0100"), ("init", "0175"), ("migrate", "0100")]
)
def test_a_database_of_a_development_version_is_refused_with_what_to_do(
    tmp_path: Path, fresh_database_url: str, part: str, revision: str
) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))
    said = refusal([part], tmp_path, database_url=fresh_database_url, http_bind="127.0.0.1:0")
    assert f"development version (schema revision {revision})" in said
    assert "GPUAAS_DATA_DIR" in said
    assert "GPUAAS_DATABASE_URL" in said


def test_a_role_that_walks_through_the_tenant_wall_is_refused(
    tmp_path: Path, postgres_server: EmbeddedPostgres
) -> None:
    said = refusal(["worker"], tmp_path, database_url=postgres_server.superuser_url)
    assert "SUPERUSER" in said


def test_a_second_up_on_a_data_directory_is_refused_with_the_firsts_process(tmp_path: Path) -> None:
    lock = DataDirectoryLock(tmp_path / "var")
    lock.acquire()
    said = refusal(["up"], tmp_path, http_bind="127.0.0.1:0")
    lock.release()
    assert f"already runs on {tmp_path / 'var'} (process {os.getpid()})" in said
    assert not (tmp_path / "var" / "postgres").exists()


def test_the_lock_of_a_killed_supervisor_is_free_at_once(tmp_path: Path) -> None:
    hold = (
        "import sys, time, pathlib\n"
        "from gpuaas_server.processes.data_lock import DataDirectoryLock\n"
        "lock = DataDirectoryLock(pathlib.Path(sys.argv[1]))\n"
        "lock.acquire()\n"
        "print('held', flush=True)\n"
        "time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    lock = DataDirectoryLock(tmp_path)
    with pytest.raises(StartFailed, match=str(holder.pid)):
        lock.acquire()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    lock.acquire()
    lock.release()
