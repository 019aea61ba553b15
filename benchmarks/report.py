"""The table on the screen, and benchmarks/RESULTS.md with the machine's facts and how each figure was measured."""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure
from benchmarks.machine import Speed, Storage

RESULTS = Path(__file__).parent / "RESULTS.md"
_COLOURS = {"met": "green", "MISSED": "red", "info": "dim", "NOT MEASURED": "yellow"}


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's figures, how they were measured, and how fast the machine was just before."""

    name: str
    how: str
    figures: list[Figure]
    speed: Speed


def show(figures: Iterable[Figure]) -> None:
    table = Table(title="Benchmarks", title_justify="left")
    for column in ("figure", "value", "limit", "verdict", "note"):
        table.add_column(column, justify="right" if column in ("value", "limit") else "left")
    for figure in figures:
        verdict = f"[{_COLOURS[figure.verdict]}]{figure.verdict}[/]"
        table.add_row(figure.name, figure.shown, figure.shown_limit, verdict, figure.note)
    Console(width=160 if not os.isatty(1) else None).print(table)


def write(sections: Sequence[Section], begin: Storage, end: Storage) -> None:
    """`begin` and `end`: the machine's storage before the first section and after the last."""
    lines = ["# Benchmark results", "", "The last full run of `make bench`; written by the run itself.", ""]
    lines += _facts(sections, begin, end)
    lines += ["", "| figure | value | limit | verdict | note |", "|---|--:|--:|---|---|"]
    for section in sections:
        lines += [f"| {f.name} | {f.shown} | {f.shown_limit} | {f.verdict} | {f.note} |" for f in section.figures]
    lines += ["", "## How each was measured"]
    for section in sections:
        lines += ["", f"### {section.name}", section.how, "", f"The machine just before: {section.speed}."]
    lines += [
        "",
        "For scale: OpenStack Placement manages about 3 claims a second with 10,000 providers on such a machine.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n")


def _facts(sections: Sequence[Section], begin: Storage, end: Storage) -> list[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    busy = " (others were using the machine)" if sections[0].speed.load > 1 else ""
    rates = [section.speed.python for section in sections]
    return [
        f"- date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"- machine: {_cpu_model()}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}",
        f"- Python {platform.python_version()}",
        f"- the machine's own speed when the run began: {sections[0].speed}; {begin}{busy}",
        f"- when the last section began: {sections[-1].speed}; at the end: {end}",
        f"- its Python speed before each section: {min(rates):.0f} to {max(rates):.0f} rounds/s",
        "- compare times and rates of two runs only where these speeds (`benchmarks/machine.py`) are alike; ratios always",
    ]


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
