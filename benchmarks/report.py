"""The table on the screen, and benchmarks/RESULTS.md with the machine's facts and how each figure was measured."""

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure

RESULTS = Path(__file__).parent / "RESULTS.md"
_COLOURS = {"met": "green", "MISSED": "red", "info": "dim", "NOT MEASURED": "yellow"}


def show(figures: Iterable[Figure]) -> None:
    table = Table(title="Benchmarks", title_justify="left")
    for column in ("figure", "value", "limit", "verdict", "note"):
        table.add_column(column, justify="right" if column in ("value", "limit") else "left")
    for figure in figures:
        verdict = f"[{_COLOURS[figure.verdict]}]{figure.verdict}[/]"
        table.add_row(figure.name, figure.shown, figure.shown_limit, verdict, figure.note)
    Console(width=160 if not os.isatty(1) else None).print(table)


def write(sections: dict[str, tuple[str, list[Figure]]], load_before: float) -> None:
    """`sections`: name to (how it was measured, figures)."""
    lines = ["# Benchmark results", "", "The last full run of `make bench`; written by the run itself.", ""]
    lines += _facts(load_before)
    lines += ["", "| figure | value | limit | verdict | note |", "|---|--:|--:|---|---|"]
    for _, figures in sections.values():
        lines += [f"| {f.name} | {f.shown} | {f.shown_limit} | {f.verdict} | {f.note} |" for f in figures]
    lines += ["", "## How each was measured"]
    for name, (how, _) in sections.items():
        lines += ["", f"### {name}", how]
    lines += [
        "",
        "For scale: OpenStack Placement manages about 3 claims a second with 10,000 providers on such a machine.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n")


def _facts(load_before: float) -> list[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"- date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"- machine: {_cpu_model()}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}",
        f"- Python {platform.python_version()}; load average when the run began: {load_before:.1f}"
        + (" (others were using the machine)" if load_before > 1 else ""),
    ]


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
