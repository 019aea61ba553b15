"""A footprint as a host takes it: plain names, straight paths, ports with their protocol. Pure.

The host checks the same again: neither side relies on the other to check an untrusted text.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping

KINDS = ("units", "processes", "ports", "paths", "users", "mounts", "containers", "cron")
MOST_ENTRIES = 640
_UNIT = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9:_.@*-]{0,200}\.(service|socket|timer|path|mount|automount|scope|slice|target)"
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+*-]{0,127}")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_PATH = re.compile(r"(/[A-Za-z0-9_.+@:=,*-]{1,128}){1,16}")
_PORT = re.compile(r"[1-9][0-9]{0,4}/(tcp|udp)")
_KERNEL = ("/proc", "/sys")

Footprint = dict[str, list[str]]


class FootprintInvalid(ValueError):
    """The footprint names something that no host may be asked to look for."""


def normalize(raw: Mapping[str, object]) -> Footprint:
    """Normalize a manifest's footprint. Kinds that it does not name are there too, empty: hosts look at them for the others."""
    unknown = set(raw) - set(KINDS)
    if unknown:
        raise FootprintInvalid(f"{sorted(unknown)[0]!s:.40} is nothing that a footprint names")
    return {kind: _entries(raw, kind) for kind in KINDS}


def digest(footprint: Footprint) -> str:
    return hashlib.sha256(json.dumps(footprint, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _entries(raw: Mapping[str, object], kind: str) -> list[str]:
    value = raw.get(kind) or []
    if not isinstance(value, list | tuple) or len(value) > MOST_ENTRIES:
        raise FootprintInvalid(f"{kind} is not a list of at most {MOST_ENTRIES}")
    entries = [_port(entry) if kind == "ports" else entry for entry in value]
    for entry in entries:
        if not isinstance(entry, str) or not _ACCEPTED[kind](entry):
            raise FootprintInvalid(f"{kind} has an entry that no host would look for")
    return [str(entry) for entry in entries]


def _port(entry: object) -> object:
    """7777, "7777/udp", or as a manifest says it: {port, protocol, name}."""
    if isinstance(entry, Mapping):
        return f"{entry.get('port')}/{entry.get('protocol') or 'tcp'}"
    if isinstance(entry, int) and not isinstance(entry, bool):
        return f"{entry}/tcp"
    return entry


def _is_port(entry: str) -> bool:
    return _PORT.fullmatch(entry) is not None and int(entry.partition("/")[0]) <= 65535


def _is_path(entry: str) -> bool:
    """Tell whether it is an absolute path without `.` or `..`. Only its last part may have a `*`, beside other characters."""
    if not _PATH.fullmatch(entry) or any(entry == place or entry.startswith(place + "/") for place in _KERNEL):
        return False
    parts = entry.split("/")[1:]
    return not {".", ".."} & set(parts) and not any("*" in part for part in parts[:-1]) and parts[-1].strip("*") != ""


def _like(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda entry: pattern.fullmatch(entry) is not None


_ACCEPTED: dict[str, Callable[[str], bool]] = {
    "units": _like(_UNIT),
    "processes": _like(_NAME),
    "ports": _is_port,
    "paths": _is_path,
    "users": _like(_USER),
    "mounts": _is_path,
    "containers": _like(_NAME),
    "cron": _like(_NAME),
}
