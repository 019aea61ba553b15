"""An app's footprint: what it says that it leaves on a host, as checked types. The text is not trusted: each entry must be
a plain name, an absolute path or a number, and no entry is ever passed to a program.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpuaas_agent.failures import SpecInvalid

MOST_ENTRIES = 640
_UNIT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9:_.@*-]{0,200}\.(service|socket|timer|path|mount|automount|scope|slice|target)"
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+*-]{0,127}")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_PATH = re.compile(r"(/[A-Za-z0-9_.+@:=,*-]{1,128}){1,16}")
_PORT = re.compile(r"([1-9][0-9]{0,4})/(tcp|udp)")
_KERNEL = ("/proc", "/sys")


@dataclass(frozen=True)
class Footprint:
    """`*` matches any part of a unit, of a name, or of the last part of a path; a template unit matches its instances."""

    units: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()  # "7777/tcp"
    paths: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    cron: tuple[str, ...] = ()


def parse(raw: object) -> Footprint:
    if not isinstance(raw, dict) or set(raw) - set(Footprint.__dataclass_fields__):
        raise SpecInvalid("footprint is not an object of known lists")
    return Footprint(
        units=_entries(raw, "units", _UNIT),
        processes=_entries(raw, "processes", _NAME),
        ports=tuple(_port(entry) for entry in _entries(raw, "ports", _PORT)),
        paths=tuple(_path(entry) for entry in _entries(raw, "paths", _PATH)),
        users=_entries(raw, "users", _USER),
        mounts=tuple(_path(entry) for entry in _entries(raw, "mounts", _PATH)),
        containers=_entries(raw, "containers", _NAME),
        cron=_entries(raw, "cron", _NAME),
    )


def digest(raw: object) -> str:
    """Return the SHA-256 of the footprint as received; it proves what the inspection looked for."""
    return hashlib.sha256(json.dumps(raw, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def unit_matching(patterns: tuple[str, ...], unit: str) -> str | None:
    return next((p for p in patterns if fnmatchcase(unit, p) or fnmatchcase(unit, p.replace("@.", "@*."))), None)


def matching(patterns: tuple[str, ...], name: str) -> str | None:
    """Return the first pattern that matches the name."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)


def under(paths: tuple[str, ...], path: str) -> str | None:
    """Return the footprint path that equals this path or contains it."""
    parts = path.split("/")
    for pattern in paths:
        depth = len(pattern.split("/"))
        if len(parts) >= depth and fnmatchcase("/".join(parts[:depth]), pattern):
            return pattern
    return None


def _entries(raw: dict[str, object], key: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    value = raw.get(key, [])
    if not isinstance(value, list) or len(value) > MOST_ENTRIES:
        raise SpecInvalid(f"footprint.{key} is not a list of at most {MOST_ENTRIES}")
    for entry in value:
        if not isinstance(entry, str) or not pattern.fullmatch(entry):
            raise SpecInvalid(f"footprint.{key} has an entry that is not acceptable")
    return tuple(value)


def _port(entry: str) -> str:
    if int(entry.partition("/")[0]) > 65535:
        raise SpecInvalid("footprint.ports has an entry that is not a port")
    return entry


def _path(entry: str) -> str:
    """Require an absolute path without `..`, and with a `*` only beside other characters in the last part."""
    parts = entry.split("/")[1:]
    straight = not {".", ".."} & set(parts)
    if not straight or any("*" in part for part in parts[:-1]) or not parts[-1].strip("*"):
        raise SpecInvalid("footprint has a path with '..' or a misplaced '*'")
    if any(entry == place or entry.startswith(place + "/") for place in _KERNEL):
        raise SpecInvalid("footprint has a path in /proc or /sys")
    return entry
