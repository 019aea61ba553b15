"""The log of a simulated app: one line of each unit in each period, the same whenever it is read. Pure."""

from __future__ import annotations

from dataclasses import replace

from gpuaas_agent.logs.lines import LogLine
from gpuaas_agent.logs.spec import MOST_LINES, LogSpec

PERIOD_SECONDS = 2
LONGEST_SECONDS = 3600.0
_PERIOD = PERIOD_SECONDS * 1_000_000
_TEXTS = (
    "Simulated app is up",
    "Served 12 requests in the last 2 s",
    "Cache is warm: 98 % hits",
    "Slow request: 1.2 s",
)


def lines_of(spec: LogSpec, now: float) -> list[LogLine]:
    """Return the lines that the spec asks for, in the order of time."""
    units = [unit.replace("*", "1") for unit in spec.units if unit.endswith(".service")]
    units = [unit for unit in units if spec.source in (None, unit)]
    until = min(int(now * 1_000_000), spec.until or 1 << 60)
    first, last = -(-spec.since // _PERIOD), until // _PERIOD
    per_period = max(1, len(units))
    most = spec.limit // per_period + 2
    position = None if spec.cursor is None else _ticks(spec.cursor)
    if spec.order == "newest":
        last = last if position is None else min(last, position[0])
        ticks = range(max(first, last - most), last + 1)
    else:
        first = first if position is None else max(first, position[0])
        ticks = range(first, min(last, first + most) + 1)
    lines = [_line(tick, index, unit) for tick in ticks for index, unit in enumerate(units)]
    if position is not None:
        lines = [one for one in lines if _is_beyond(one, position, newest=spec.order == "newest")]
    if spec.limit == 0:
        return []
    return lines[-spec.limit :] if spec.order == "newest" else lines[: spec.limit]


def portion(spec: LogSpec, lines: list[LogLine]) -> dict[str, object]:
    full = len(lines) >= spec.limit > 0
    return {"ticket": spec.ticket, "lines": [line.wire() for line in lines], "left_out": 0, "more": full}


def after(spec: LogSpec, lines: list[LogLine]) -> LogSpec:
    following = replace(spec, order="oldest", limit=MOST_LINES)
    return replace(following, cursor=lines[-1].cursor) if lines else following


def _line(tick: int, index: int, unit: str) -> LogLine:
    number = tick % len(_TEXTS)
    priority = 4 if number == 3 else 6
    return LogLine(f"t={tick:x};i={index:x}", tick * _PERIOD, unit, _TEXTS[number], priority, False)


def _ticks(cursor: str) -> tuple[int, int]:
    parts = dict(part.split("=") for part in cursor.split(";"))
    return int(parts.get("t", "0"), 16), int(parts.get("i", "0"), 16)


def _is_beyond(line: LogLine, position: tuple[int, int], *, newest: bool) -> bool:
    here = _ticks(line.cursor)
    return here < position if newest else here > position
