"""The file that an administrator's password goes to: whole and on disk before the password is anybody's."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gpuaas_server.identity.administrators import Administrator
from gpuaas_server.kernel.start import StartFailed


def admin_file_writer(path: Path | None) -> Callable[[Administrator], None] | None:
    """What writes an administrator to the file; None when there is no file to write."""
    return None if path is None else lambda admin: write_admin_file(path, admin)


def write_admin_file(path: Path, admin: Administrator) -> None:
    """Replace the file in one step (mode 0600). A file that is not one of ours is left alone, and the start refused."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _refuse_foreign(path)
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"email": admin.email, "password": admin.password}, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise StartFailed(
            f"the administrator's file {path} cannot be written ({error.strerror}), so nobody was created or changed;"
            " name another one with --admin-file"
        ) from error


def _refuse_foreign(path: Path) -> None:
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        found = json.loads(path.read_text())
    except (UnicodeDecodeError, json.JSONDecodeError):
        found = None
    if not isinstance(found, dict) or set(found) != {"email", "password"}:
        raise StartFailed(f"{path} exists and is no administrator's file; name another one with --admin-file")


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
