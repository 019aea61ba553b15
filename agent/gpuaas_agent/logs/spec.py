"""The spec of a log task, as checked types. Units come from an app's manifest, so nothing of it is trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpuaas_agent import footprint, specs
from gpuaas_agent.failures import SpecInvalid
from gpuaas_agent.specs import Shape

Order = Literal["newest", "oldest"]

MOST_LINES = 500  # in one portion
_READ = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{1,64}")
_TICKET = re.compile(r"[0-9a-f]{1,2000}")
_SOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.@-]{0,220}")
CURSOR = re.compile(r"[a-z]=[0-9a-f]{1,40}(;[a-z]=[0-9a-f]{1,40}){1,9}")


@dataclass(frozen=True)
class LogSpec:
    """Says which lines somebody wants to read. Times are microseconds since the epoch; `since` is never before the member."""

    read_id: str
    ticket: str  # of the platform; it comes back with every portion
    allocation_id: str
    shape: Shape
    units: tuple[str, ...]
    source: str | None
    since: int
    until: int | None
    cursor: str | None
    order: Order
    limit: int
    follow: bool


def parse_logs(raw: dict[str, object]) -> LogSpec:
    units = footprint.parse({"units": raw.get("units")}).units
    if not units:
        raise SpecInvalid("units is empty")
    limit = raw.get("limit")
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= MOST_LINES:
        raise SpecInvalid(f"limit is not a number up to {MOST_LINES}")
    since = _moment(raw, "since")
    if since is None:
        raise SpecInvalid("since is missing")
    return LogSpec(
        read_id=_text(raw, "read_id", _READ) or "",
        ticket=_text(raw, "ticket", _TICKET) or "",
        allocation_id=specs.allocation_of(raw),
        shape=specs.shape_of(raw),
        units=units,
        source=_text(raw, "source", _SOURCE, optional=True),
        since=since,
        until=_moment(raw, "until"),
        cursor=_text(raw, "cursor", CURSOR, optional=True),
        order="oldest" if raw.get("order") == "oldest" else "newest",
        limit=limit,
        follow=raw.get("follow") is True,
    )


def _text(raw: dict[str, object], key: str, pattern: re.Pattern[str], *, optional: bool = False) -> str | None:
    value = raw.get(key)
    if value is None and optional:
        return None
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise SpecInvalid(f"{key} is missing or not acceptable")
    return value


def _moment(raw: dict[str, object], key: str) -> int | None:
    value = raw.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 60:
        raise SpecInvalid(f"{key} is not a time")
    return value
