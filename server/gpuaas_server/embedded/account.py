"""The system account that the embedded PostgreSQL runs as, since it refuses to run as root."""

import fcntl
import os
import pwd
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuaas_server.kernel.start import StartFailed

ACCOUNT = "gpuaas-postgres"
LOCK_FILE = Path("/run/gpuaas-account.lock")
LOCK_SECONDS = 30.0
_LOCK_PAUSE = 0.05


def ensure_account(name: str = ACCOUNT) -> pwd.struct_passwd | None:
    """Return the account, creating it on first use; None where the caller is not root and needs none."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(name)
    except KeyError:
        with _creation_lock():
            return _create_account(name)


def _create_account(name: str) -> pwd.struct_passwd:
    """Caller must hold the creation lock."""
    try:
        return pwd.getpwnam(name)  # another platform on this machine has created it while this one waited
    except KeyError:
        pass
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise StartFailed(f"the account {name} cannot be created: {done.stderr.strip()}") from None


@contextmanager
def _creation_lock() -> Iterator[None]:
    """Lock the creation: several `useradd` at once undo each other's entries, although each locks the password file."""
    descriptor = os.open(LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StartFailed(
                    f"another process has held {LOCK_FILE} for {LOCK_SECONDS:g} s; end it, then start again"
                ) from None
            time.sleep(_LOCK_PAUSE)
        else:
            return
