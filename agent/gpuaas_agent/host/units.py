"""Lists, stops and starts systemd units: services, timers, sockets and sessions, and their files."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Mapping

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import manifest

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
# Also only in memory, and so in no manifest of files. Their content is compared, too.
_RUN_FOLDERS = (
    *(folder for folder in FOLDERS if folder.startswith("/run/")),
    "/run/systemd/network",
    "/run/systemd/resolve",
    "/run/systemd/system-environment-generators",
    "/run/systemd/system-generators",
    "/run/systemd/user-environment-generators",
    "/run/systemd/user-generators",
    *(
        f"/run/{name}.d"
        for name in ("binfmt", "environment", "modprobe", "modules-load", "sysctl", "sysusers", "tmpfiles")
    ),
)
_RUN_CONFIGURATION = "/run/systemd/*.conf.d"
# What systemd and the agent write at work: the state of links, and transient units of slices.
_CHANGING = ("/run/systemd/resolve/netif/", "/run/systemd/transient/gpuaas-")
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
    return _files_in(FOLDERS)


def run_files() -> dict[str, str]:
    """Return what systemd and its tools read from /run, with a digest of content, owner and mode; a read error raises."""
    folders = (*_RUN_FOLDERS, *glob.glob(_RUN_CONFIGURATION))
    found = {}
    for path in _files_in(folders):
        entry = None if path.startswith(_CHANGING) else manifest.read(path)
        if entry is not None and entry.kind != "socket":
            facts = f"{entry.kind} {entry.mode:o} {entry.uid} {entry.gid} {entry.content} {entry.attributes}"
            found[path] = hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()
    return found


def run_differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return what was added or changed. What is missing is no trace: systemd removes such files when units end."""
    return [
        f"{'changed' if path in before else 'added'} {path}" for path in sorted(now) if before.get(path) != now[path]
    ]


def _files_in(given: Iterable[str]) -> set[str]:
    found: set[str] = set()

    def fail(problem: OSError) -> None:
        if not isinstance(problem, FileNotFoundError):
            raise problem

    for folder in given:
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
