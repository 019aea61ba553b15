"""The file with an administrator's password. It is complete and on disk before the password becomes valid."""

from collections.abc import Callable
from pathlib import Path

from gpuaas_server.identity.administrators import Administrator
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.processes.private_file import ForeignFile, write_private_json


def admin_file_writer(path: Path | None) -> Callable[[Administrator], None] | None:
    """Return the function that writes an administrator to the file; None if there is no file to write."""
    return None if path is None else lambda admin: write_admin_file(path, admin)


def write_admin_file(path: Path, admin: Administrator) -> None:
    """Replace the file in one step (mode 0600). A file that is not one of ours is left alone, and the start refused."""
    try:
        write_private_json(path, {"email": admin.email, "password": admin.password})
    except ForeignFile as error:
        raise StartFailed(
            f"{path} exists and is no administrator's file; name another one with --admin-file"
        ) from error
    except OSError as error:
        raise StartFailed(
            f"the administrator's file {path} cannot be written ({error.strerror}), so nobody was created or changed;"
            " name another one with --admin-file"
        ) from error
