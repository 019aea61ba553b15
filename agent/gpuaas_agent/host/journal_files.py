"""Begins the host's journal anew in a wipe, and recognises it afterwards by the random id that journald gives each file.

The content of the open journal is the one that no rule can foresee, so a journal that somebody wrote would be hidden in it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure

FOLDER = Path("/var/log/journal")
_SIGNATURE = b"LPKSHHRH"
_FILE_ID = slice(24, 40)
_ROTATE = ["journalctl", "--quiet", "--rotate"]


def renew(deadline: Deadline, folder: Path = FOLDER) -> str:
    """Make journald begin new files, and return the ids of the open ones. A journal that is not begun anew is a failure."""
    before = file_ids(folder)
    if commands.attempt(_ROTATE, deadline.at_most(30)).returncode != 0:
        commands.attempt(["systemctl", "restart", "systemd-journald.service"], deadline.at_most(30))
        commands.run(_ROTATE, deadline.at_most(30))
    now = file_ids(folder)
    kept = sorted(path for path, found in now.items() if found in ("", before.get(path)))
    if kept:
        raise TaskFailure(
            "journal_not_renewed",
            f"journald did not begin {kept[0]} anew",
            "Look at systemd-journald on the host, or restart the host, and retry the release.",
            retryable=True,
        )
    return joined(now)


def faults(begun: str, folder: Path = FOLDER) -> list[str]:
    """Return the open journals, unless they are those that the wipe began."""
    return [] if joined(now := file_ids(folder)) == begun else [f"not begun by the wipe {path}" for path in sorted(now)]


def joined(ids: dict[str, str]) -> str:
    return " ".join(sorted(ids.values()))


def file_ids(folder: Path) -> dict[str, str]:
    """Return path → id of each open system journal; an empty id for a file that is no journal."""
    if not folder.is_dir():
        return {}
    paths = [inner / "system.journal" for inner in sorted(folder.iterdir())]
    return {str(path): _file_id(path) for path in paths if os.path.lexists(path)}


def _file_id(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        header = file.read(_FILE_ID.stop) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    return header[_FILE_ID].hex() if header.startswith(_SIGNATURE) else ""
