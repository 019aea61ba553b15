"""Lists, stops and starts systemd units: services, timers, sockets and sessions, and their files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline

FOLDERS = (
    "/etc/systemd",
    "/run/systemd/system",
    "/run/systemd/transient",
    "/run/systemd/generator",
    "/run/systemd/generator.early",
    "/run/systemd/generator.late",
    "/run/systemd/system.control",
    "/run/systemd/user",
    "/run/udev/rules.d",
    "/usr/local/lib/systemd",
    "/usr/lib/systemd/system",
    "/usr/lib/systemd/user",
)
_KINDS = "service,socket,timer,path,automount,scope,slice,swap"
_PRESENT = {"active", "activating", "deactivating", "reloading", "failed", "maintenance"}


def present(deadline: Deadline) -> set[str]:
    """Return units that are active or failed."""
    text = commands.run(
        [
            "systemctl",
            "list-units",
            "--all",
            "--full",
            "--plain",
            "--no-legend",
            "--no-pager",
            f"--type={_KINDS}",
        ],
        deadline,
    )
    rows = (line.split(None, 4) for line in text.splitlines())
    return {row[0] for row in rows if len(row) > 2 and row[2] in _PRESENT}


def is_active(unit: str, deadline: Deadline) -> bool:
    return commands.attempt(["systemctl", "is-active", "--quiet", "--", unit], deadline).returncode == 0


def files() -> set[str]:
    """Return every file and link in the folders that systemd reads; a read error raises."""
    found: set[str] = set()

    def fail(problem: OSError) -> None:
        if not isinstance(problem, FileNotFoundError):
            raise problem

    for folder in FOLDERS:
        for parent, folders, names in os.walk(folder, onerror=fail):
            links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
            found.update(os.path.join(parent, name) for name in names + links)
    return found


def foreign(now: set[str], before: set[str], files_before: Iterable[str]) -> list[str]:
    """Return units that did not run before and do not come from a file that existed before.

    An instance of a template must have run before: sessions are such instances.
    """
    known = {os.path.basename(path) for path in files_before}
    return sorted(unit for unit in now - before if "@" in unit or unit not in known)


def stop(units: list[str], deadline: Deadline) -> None:
    if units:
        commands.attempt(["systemctl", "stop", "--no-block", "--", *units], deadline)


def settle(deadline: Deadline) -> None:
    """Reload the unit files and reset failed units."""
    commands.run(["systemctl", "daemon-reload"], deadline)
    commands.attempt(["systemctl", "reset-failed"], deadline)


def restart_soon(unit: str, deadline: Deadline) -> None:
    commands.attempt(["systemctl", "restart", "--no-block", "--", unit], deadline)


def start(units: list[str], deadline: Deadline) -> None:
    if units:
        commands.attempt(["systemctl", "start", "--", *units], deadline)
