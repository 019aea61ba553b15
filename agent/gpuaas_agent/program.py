"""Computes one digest over all files of the agent's own program, for the platform to compare."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
_COMPILED = "__pycache__"


def program_sha256(package: Path = PACKAGE) -> str:
    """Return the SHA-256 over path and content of every file of the package, sorted by path, without compiled code."""
    total = hashlib.sha256()
    for relative in sorted(_files(package)):
        content = hashlib.sha256((package / relative).read_bytes()).hexdigest()
        total.update(f"{relative}\0{content}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def _files(package: Path) -> list[str]:
    found = []
    for folder, folders, names in os.walk(package):
        folders[:] = [name for name in folders if name != _COMPILED]
        found += [os.path.relpath(os.path.join(folder, name), package) for name in names]
    return found
