"""Files that only their owner may read. A file is complete and on disk before its secret becomes valid."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


class ForeignFile(OSError):
    """The file exists, and this platform did not write it."""


def write_private_json(path: Path, document: Mapping[str, str]) -> None:
    """Replace the file in one step (mode 0600). A file that does not have the same fields is left alone."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _refuse_foreign(path, set(document))
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        _sync_directory(path.parent)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def _refuse_foreign(path: Path, fields: set[str]) -> None:
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        found = json.loads(path.read_text())
    except (UnicodeDecodeError, json.JSONDecodeError):
        found = None
    if not isinstance(found, dict) or set(found) != fields:
        raise ForeignFile(f"{path} exists and is another file")


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
