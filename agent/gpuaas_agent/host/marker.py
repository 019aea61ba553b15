"""Plants a random text in folders that hold tenant data. A wipe that did nothing leaves it behind."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gpuaas_agent.allocations import Marker

_PLACES = ("var/tmp", "var/lib", "usr/local/share")


def choose(home: str) -> Marker:
    text = secrets.token_hex(32)
    name = f".gpuaas-{text[:12]}"
    return Marker(text, (*(f"/{place}/{name}" for place in _PLACES), f"{home}/{name}"))


def plant(marker: Marker, root: Path = Path("/")) -> None:
    for path in marker.paths:
        target = root / path.lstrip("/")
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "w") as file:
            file.write(marker.text)


def still_there(marker: Marker, root: Path = Path("/")) -> list[str]:
    """Return planted paths that still exist. Any error but "no such file" raises."""
    left = []
    for path in marker.paths:
        try:
            os.lstat(root / path.lstrip("/"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        left.append(path)
    return left
