"""Tables and cards for people, JSON for programs. JSON is the API's answer, unchanged."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from rich.table import Table
from rich.text import Text

from gpuaas_cli.session import Session
from gpuaas_sdk import Resource

Thing = TypeVar("Thing", bound=Resource)

_GOOD = {
    "absent",
    "clean",
    "active",
    "ready",
    "available",
    "succeeded",
    "released",
    "current",
    "done",
    "approved",
    "healthy",
}
_BAD = {
    "failed",
    "release_failed",
    "lost",
    "cleanup_blocked",
    "refused",
    "expired",
    "denied",
    "disabled",
    "left",
    "unseen",
    "not_seen",
    "not_verified",
    "unhealthy",
    "cancelled",
}
_MOVING = {
    "requested",
    "provisioning",
    "releasing",
    "cleaning",
    "running",
    "pending",
    "discovered",
    "enrolled",
    "claimed",
    "degraded",
    "draining",
    "joining",
    "progressing",
    "removing",
    "starting",
    "stopping",
}


@dataclass(frozen=True, slots=True)
class Column(Generic[Thing]):
    title: str
    cell: Callable[[Thing], object]
    right: bool = False
    whole: bool = False  # never wrapped: ids and states


def print_list(session: Session, things: Iterable[Thing], columns: Sequence[Column[Thing]]) -> None:
    rows = list(things)
    if session.as_json:
        print_json(session, [row.raw for row in rows])
        return
    if not rows:
        session.err.print("Nothing to show.", style="dim")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.title, justify="right" if column.right else "left", no_wrap=column.whole, overflow="fold"
        )
    for row in rows:
        table.add_row(*(cell(column.cell(row)) for column in columns))
    session.out.print(table)


def print_card(session: Session, thing: Resource, fields: Sequence[tuple[str, object]]) -> None:
    if session.as_json:
        print_json(session, thing.raw)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in fields:
        if value not in (None, "", [], {}):
            table.add_row(label, cell(value))
    session.out.print(table)


def print_json(session: Session, content: object) -> None:
    """Print the API's answer unchanged; control characters are written as JSON escapes."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    if not text.isascii():
        text = "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)
    session.out.print(text, markup=False, highlight=False, soft_wrap=True)


def cell(value: object) -> Text:
    if isinstance(value, Text):
        return value
    if value is None or value == "":
        return Text("-", style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, datetime):
        return Text(moment(value))
    if isinstance(value, Mapping):
        return Text(", ".join(f"{name}={_inner(one)}" for name, one in value.items()))
    if isinstance(value, list | tuple):
        return Text(", ".join(str(one) for one in value))
    text = str(value)
    return Text(text, style=style_of(text))


def _inner(value: object) -> str:
    """Format a value inside a list: a bar separates its parts, because commas separate the list."""
    return "|".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)


def style_of(state: str) -> str:
    if state in _GOOD:
        return "green"
    if state in _BAD:
        return "red"
    return "yellow" if state in _MOVING else ""


def moment(time: datetime | None) -> str:
    return "-" if time is None else time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def short_moment(time: datetime | None) -> str:
    """Format a time for a narrow table column: month, day and time in UTC."""
    return "-" if time is None else time.astimezone(UTC).strftime("%m-%d %H:%M:%S")


def age(time: datetime | None) -> str:
    if time is None:
        return "-"
    seconds = max(0, int((datetime.now(UTC) - time).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def money(minor: int, currency: str) -> str:
    return f"{minor / 100:.2f} {currency}".strip()
