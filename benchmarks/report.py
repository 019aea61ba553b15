"""The table on the screen, and benchmarks/RESULTS.md with the machine's facts and how each figure was measured."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure
from benchmarks.saved import Section

RESULTS = Path(__file__).parent / "RESULTS.md"
BUSY = 1.0
_COLOURS = {"met": "green", "MISSED": "red", "info": "dim", "NOT MEASURED": "yellow"}


def show(figures: Iterable[Figure]) -> None:
    table = Table(title="Benchmarks", title_justify="left")
    for column in ("figure", "value", "limit", "verdict", "note"):
        table.add_column(column, justify="right" if column in ("value", "limit") else "left")
    for figure in figures:
        verdict = f"[{_COLOURS[figure.verdict]}]{figure.verdict}[/]"
        table.add_row(figure.name, figure.shown, figure.shown_limit, verdict, figure.note)
    Console(width=160 if not os.isatty(1) else None).print(table)


def write(sections: Sequence[Section], how: Mapping[str, str]) -> None:
    """Write down a full run; `how` says for each section how it is measured."""
    lines = ["# Benchmark results", "", "The last full run of `make bench`; written by the run itself.", ""]
    lines += _facts(sections)
    lines += ["", "| figure | value | limit | verdict | note |", "|---|--:|--:|---|---|"]
    for section in sections:
        lines += [f"| {f.name} | {f.shown} | {f.shown_limit} | {f.verdict} | {f.note} |" for f in section.figures]
    lines += ["", "## How each was measured"]
    for section in sections:
        lines += ["", f"### {section.name}", how[section.name], "", f"Measured {section.circumstances}."]
    lines += [
        "",
        "For scale: OpenStack Placement manages about 3 claims a second with 10,000 providers on such a machine.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n")


def _facts(sections: Sequence[Section]) -> list[str]:
    commits: dict[str, list[str]] = {}
    for section in sections:
        commits.setdefault(section.code, []).append(section.name)
    mixed = "; ".join(f"{', '.join(names)} at {code}" for code, names in commits.items())
    first, last = (pick(section.measured_at for section in sections) for pick in (min, max))
    busy = [section.name for section in sections if section.speed.load > BUSY]
    speeds = {
        "load": [section.speed.load for section in sections],
        "Python rounds/s": [section.speed.python for section in sections],
        "fsyncs/s": [section.storage.fsyncs for section in sections],
        "pgbench transactions/s": [section.storage.pgbench for section in sections],
    }
    ranges = ", ".join(f"{name} {min(rates):.1f} to {max(rates):.1f}" for name, rates in speeds.items())
    return [
        f"- measured: {first} to {last}, at {', '.join(commits)}",
        *([f"- **mixed commits**, so this is no run of one build: {mixed}"] if len(commits) > 1 else []),
        f"- machine: {sections[0].machine}",
        f"- the machine's own speed before each section: {ranges}",
        f"- sections that began while others used the machine (load above {BUSY:g}): {', '.join(busy) or 'none'}",
        "- compare times and rates of two runs only where these speeds (`benchmarks/machine.py`) are alike; ratios always",
    ]
