"""Writes files atomically: after a crash they have the old or the new content, never a mixture."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path

# Locked during each write, so that a clean-up of the folder does not remove a file that is being written.
WRITING = threading.RLock()
_LARGEST = 64 << 20


def write_bytes(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a temporary file, sync it, rename it over `path`, sync the folder."""
    with WRITING:
        _write_bytes(path, data, mode)


def _write_bytes(path: Path, data: bytes, mode: int) -> None:
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
    write_bytes(path, encode_json(value), mode)


def update_json(path: Path, changes: dict[str, object]) -> None:
    """Change some keys of the object in the file. What another thread writes meanwhile is kept."""
    with WRITING:
        write_json(path, {**(read_json(path) or {}), **changes})


def encode_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def read_json(path: Path) -> dict[str, object] | None:
    """Return the object in the file, or None if there is no file. Links are not followed and pipes do not block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            value = json.loads(file.read(_LARGEST))
    except FileNotFoundError:
        return None
    if not isinstance(value, dict):
        raise ValueError(f"{path} does not contain a JSON object")
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
