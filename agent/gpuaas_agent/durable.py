"""Files that are either the old or the new content after a crash, never something between."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path


def write_bytes(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a temporary file, sync it, rename it over `path`, sync the folder."""
    temporary = path.with_name(f".{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        os.fchmod(descriptor, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(temporary, path)
    sync_folder(path.parent)


def write_json(path: Path, value: object, mode: int = 0o600) -> None:
    write_bytes(path, json.dumps(value, separators=(",", ":")).encode(), mode)


def read_json(path: Path) -> dict[str, object] | None:
    """The object in the file, or None when there is no such file."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    if not isinstance(value, dict):
        raise ValueError(f"{path} does not hold an object")
    return value


def remove(path: Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        return
    sync_folder(path.parent)


def make_private_folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
