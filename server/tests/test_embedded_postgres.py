"""The embedded PostgreSQL comes back after kill -9, also while a statement of the killed server still runs."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpuaas_server.embedded import postgres
from tests_support.left_databases import left_databases


@pytest.fixture
def directory() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="gpuaas-test-"))
    os.chmod(made, 0o755)  # noqa: S103 - the database's own account must be able to enter
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("strict_umask")
def test_it_starts_under_a_umask_that_closes_new_directories_to_others(directory: Path) -> None:
    server = postgres.start(directory / "new" / "var", {"fsync": "off"})
    try:
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert (server.socket_dir.stat().st_mode & 0o777, server.socket_dir.is_relative_to(directory)) == (0o700, True)
    finally:
        server.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it under another account")
def test_a_database_outside_of_its_data_directory_says_whose_it_is_and_goes_with_it(directory: Path) -> None:
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    server = postgres.start(closed / "var", {"fsync": "off"})
    server.stop()
    home = server.socket_dir.parent.parent
    assert (home / "data-directory").read_text() == f"{closed / 'var'}\n"
    (closed / "var").mkdir()
    assert home not in left_databases()
    shutil.rmtree(closed)
    assert home in left_databases()
    shutil.rmtree(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it under another account")
@pytest.mark.usefixtures("strict_umask")
def test_a_copy_of_the_binaries_can_be_read_by_the_account_whatever_the_umask_was(directory: Path) -> None:
    (directory / "deep").mkdir()
    (directory / "deep/program").touch(0o700)
    (directory / "deep/library").touch(0o600)
    postgres._open_to_read(directory / "deep")
    modes = {path.name: path.stat().st_mode & 0o777 for path in [directory / "deep", *(directory / "deep").iterdir()]}
    assert modes == {"deep": 0o755, "program": 0o755, "library": 0o644}


def test_a_package_that_was_installed_anew_gets_a_copy_of_its_own(directory: Path) -> None:
    package, record = directory / "embedded", directory / "embedded-1.0.dist-info" / "RECORD"
    package.mkdir()
    (package / "program").write_text("one")
    record.parent.mkdir()
    record.write_text("embedded/program,sha256=one,3")
    first = postgres.copy_name(package)
    assert postgres.copy_name(package) == first, "the copy is made once"
    record.write_text("embedded/program,sha256=two,3")
    assert postgres.copy_name(package) != first
    record.unlink()
    bare = postgres.copy_name(package)
    (package / "program").write_text("other")
    assert postgres.copy_name(package) != bare


def busy(url: str, running: threading.Event) -> None:
    """A statement that does nothing but compute, so that it does not notice the death of its server."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET statement_timeout = '4s'")
            running.set()
            connection.execute("SELECT sum(sqrt(n)) FROM generate_series(1, 1000000000) n")
    except psycopg.Error:
        pass


def test_a_killed_server_starts_again_when_its_last_statements_have_ended(directory: Path) -> None:
    first = postgres.start(directory, {"fsync": "off"})
    running = threading.Event()
    thread = threading.Thread(target=busy, args=(first.url, running))
    thread.start()
    assert running.wait(20)
    with psycopg.connect(first.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        while not connection.execute("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT sum%'").fetchone():
            pass
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait(60)
    second = postgres.start(directory, {"fsync": "off"})
    try:
        with psycopg.connect(second.url) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    finally:
        second.stop()
        thread.join(30)


def test_a_cluster_that_cannot_start_is_reported_with_the_reason(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "START_SECONDS", 1.0)
    with pytest.raises(RuntimeError, match="no_such_option"):
        postgres.start(directory, {"no_such_option": "1"})


# Each process waits until all of them run, creates the account, and looks at it again once all have created it.
_CREATE_AT_ONCE = """
import os, pwd, sys, time
from pathlib import Path
from gpuaas_server.embedded.account import ensure_account
name, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
def meet(what):
    (folder / f"{what}-{name}-{os.getpid()}").touch()
    while len(list(folder.glob(f"{what}-{name}-*"))) < count:
        time.sleep(0.01)
meet("ready")
created = ensure_account(name)
meet("created")
sys.exit(created.pw_uid != pwd.getpwnam(name).pw_uid)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root creates accounts")
@pytest.mark.skipif(sys.platform != "linux", reason="a mount namespace gives the test an /etc of its own")
@pytest.mark.timeout(300)
def test_platforms_that_start_at_once_on_a_new_machine_get_one_account(directory: Path) -> None:
    etc, count = directory / "etc", 6
    shutil.copytree("/etc", etc, symlinks=True)
    create = f"'{sys.executable}' -c '{_CREATE_AT_ONCE}' \"$name\" '{directory}' {count} & pids=\"$pids $!\";"
    script = f"""mount --bind '{etc}' /etc && rm -f /etc/.pwd.lock || exit 9
    for name in gpuaas-first gpuaas-second gpuaas-third; do
      pids=; {create * count}
      for pid in $pids; do wait "$pid" || exit 1; done
    done"""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not [line for line in Path("/etc/passwd").read_text().splitlines() if line.startswith("gpuaas-first")]
