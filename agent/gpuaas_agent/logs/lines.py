"""Log lines as the journal has them: parsed, bounded, and never trusted. A tenant wrote them, and may have written the files.

journalctl prints one JSON object per entry. An entry can be as large as its writer likes, so what is read of it is bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from gpuaas_agent import footprint
from gpuaas_agent.logs.spec import CURSOR

LONGEST_TEXT = 4096  # characters of one line
LONGEST_ENTRY = 256 * 1024  # bytes of JSON that are parsed
FIELDS = ("MESSAGE", "PRIORITY", "_SYSTEMD_UNIT", "UNIT", "_PID")
# The agent's own unit: a pattern of an app must not reach it.
_OWN_UNITS = ("gpuaas-agent.service",)
_TOO_LONG = "(an entry of more than 256 KiB is not shown)"


@dataclass(frozen=True)
class LogLine:
    cursor: str
    at: int  # microseconds since the epoch
    source: str
    text: str
    priority: int | None
    cut: bool

    def wire(self) -> dict[str, object]:
        return {
            "cursor": self.cursor,
            "at": self.at,
            "source": self.source,
            "text": self.text,
            "priority": self.priority,
            "cut": self.cut,
        }


def read_entries(output: IO[bytes]) -> Iterator[bytes]:
    """Yield the entries, each cut to LONGEST_ENTRY and the end of what was longer."""
    while entry := output.readline(LONGEST_ENTRY):
        tail = b""
        while not entry.endswith(b"\n") and not tail.endswith(b"\n"):
            more = output.readline(LONGEST_ENTRY)
            if not more:
                break
            tail = (tail + more)[-2048:]
        yield entry + tail


def parse_entry(raw: bytes, units: tuple[str, ...]) -> LogLine | None:
    """Return the line; None for an entry that is broken, or of no unit of the app."""
    fields = _too_long(raw) if len(raw) > LONGEST_ENTRY else _fields(raw)
    cursor, at = fields.get("__CURSOR"), fields.get("__REALTIME_TIMESTAMP")
    if not isinstance(cursor, str) or not CURSOR.fullmatch(cursor) or not isinstance(at, str) or not at.isdecimal():
        return None
    source = _source(fields, units)
    if source is None:
        return None
    text, cut = _message(fields.get("MESSAGE"))
    priority = fields.get("PRIORITY")
    level = int(priority) if isinstance(priority, str) and re.fullmatch("[0-7]", priority) else None
    return LogLine(cursor, int(at[:18]), source, text, level, cut)


def _fields(raw: bytes) -> dict[str, object]:
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _too_long(raw: bytes) -> dict[str, object]:
    """Find the short fields of an entry that is too long to parse. A quote within a field has a backslash before it."""
    found: dict[str, object] = {"MESSAGE": _TOO_LONG}
    for name in ("__CURSOR", "__REALTIME_TIMESTAMP", "_SYSTEMD_UNIT", "PRIORITY"):
        match = re.search(rb'[{,]"' + name.encode() + rb'":"([^"\\]{1,300})"', raw)
        if match:
            found[name] = match.group(1).decode(errors="replace")
    return found


def _source(fields: dict[str, object], units: tuple[str, ...]) -> str | None:
    """Return the unit that the entry is of: the one that wrote it, or the one that systemd writes about."""
    about = fields.get("UNIT") if fields.get("_PID") == "1" else None
    for unit in (about, fields.get("_SYSTEMD_UNIT")):
        if isinstance(unit, str) and unit not in _OWN_UNITS and footprint.unit_matching(units, unit) is not None:
            return unit[:255]
    return None


def _message(value: object) -> tuple[str, bool]:
    """Return the text and whether it was cut. Bytes that are no text come as a list of numbers."""
    if isinstance(value, list):
        numbers = [one for one in value[: LONGEST_TEXT + 1] if isinstance(one, int) and 0 <= one < 256]
        text = bytes(numbers).decode(errors="replace")
    else:
        text = value if isinstance(value, str) else ""
    clean = text.encode(errors="replace").decode().removesuffix("\n")  # some writers leave a line's end on it
    return clean[:LONGEST_TEXT], len(clean) > LONGEST_TEXT or value == _TOO_LONG
