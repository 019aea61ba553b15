"""One supervisor for a data directory: a second one would fight the first for its database and its ports."""

import fcntl
import os
from pathlib import Path

from gpuaas_server.kernel.start import StartFailed

LOCK_FILE = "supervisor.lock"


def create_data_directory(data_dir: Path) -> None:
    """Create the directory so that only its owner can list it, and the embedded database's account can walk through it.

    If it were closed to that account, the database would have to live elsewhere and stay behind when the directory is removed.
    """
    if not data_dir.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        data_dir.chmod(0o711)  # whatever the umask


class DataDirectoryLock:
    """A lock on an open file. It lasts exactly as long as the process, however the process ends."""

    def __init__(self, data_dir: Path) -> None:
        create_data_directory(data_dir)
        self._path = data_dir / LOCK_FILE
        self._file: int | None = None

    def acquire(self) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StartFailed(
                f"`gpuaas-server up` already runs on {self._path.parent.resolve()} (process {holder}); stop it first,"
                " or set GPUAAS_DATA_DIR to another directory"
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._file = descriptor

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
