"""A data directory that was initialised before: a copy of it starts sooner than an empty one, which needs a database,
its schema, keys and a first administrator.

Whoever starts many servers names a folder in `GPUAAS_TEST_PREPARED_DATA`; the first start fills it, for all processes.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

FOLDER_VARIABLE = "GPUAAS_TEST_PREPARED_DATA"
DATA, ADMIN_FILE = "var", "admin.json"
# A server with one of these has its data elsewhere, or keys of its own.
NOT_WITH = frozenset({"database_url", "master_key_file"})


def copy_prepared_data(directory: Path, settings: dict[str, str], fill: Callable[[Path], None]) -> None:
    """Give the new server's directory the prepared data, where there is a folder for it. `fill` initialises one."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or NOT_WITH & settings.keys():
        return
    prepared = _filled(Path(folder), fill)
    # With owners and modes: the database's files belong to its own account.
    subprocess.run(["cp", "-a", str(prepared / DATA), str(directory / DATA)], check=True)
    shutil.copy(prepared / ADMIN_FILE, directory / ADMIN_FILE)


def _filled(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Return the filled directory. One process fills it, and the others wait for that."""
    prepared = folder / "prepared"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not prepared.exists():
            fresh = folder / "fresh"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(mode=0o755)
            fill(fresh)
            fresh.rename(prepared)
    return prepared
