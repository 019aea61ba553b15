"""tools/compare-speed measures two trees in turns, each with its own benchmarks, and says what has become worse."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from system_support.documents import REPOSITORY

FIGURES = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str = ""
    at_least: bool = True

@dataclass(frozen=True)
class Size:
    rounds: int = 5
"""
BENCHMARK = """
import pathlib
from benchmarks.figures import Figure

def run(size):
    with open(pathlib.Path(__file__).parents[1] / "{log}", "a") as log:
        print("{tree}", size.rounds, file=log)
    return [Figure("rate", {rate}, "/s"), Figure("time", {time}, "s", at_least=False), Figure("{tree} alone", 1)]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the tool and one benchmark, which was 100 per second in 2 seconds."""
    for folder in ("benchmarks", "tools"):
        (tmp_path / folder).mkdir()
    shutil.copy(REPOSITORY / "tools/compare-speed", tmp_path / "tools")
    (tmp_path / "benchmarks/__init__.py").write_text("")
    (tmp_path / "benchmarks/figures.py").write_text(FIGURES)
    write_benchmark(tmp_path, "old", 100, 2)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "Measure"]):
        subprocess.run(
            ["git", *command], cwd=tmp_path, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
        )
    return tmp_path


def write_benchmark(root: Path, tree: str, rate: float, time: float) -> None:
    text = BENCHMARK.format(tree=tree, rate=rate, time=time, log=root / "turns.log")
    (root / "benchmarks/claims.py").write_text(text)


def compare(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(REPOSITORY / ".venv/bin/python"), "tools/compare-speed", "HEAD", "claims", "--turns", "2"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)


def test_both_trees_are_measured_in_turns(checkout: Path) -> None:
    write_benchmark(checkout, "new", 104, 2.05)
    done = compare(checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["claims: rate: 100 → 104 /s (+4.0%)", "claims: time: 2 → 2.05 s (+2.5%)"]
    assert (checkout / "turns.log").read_text().split("\n")[:-1] == ["old 2", "new 2", "new 2", "old 2"]


@pytest.mark.parametrize(("rate", "time"), [(94, 2), (100, 2.2)])
def test_a_figure_that_is_worse_by_more_than_5_percent_fails(checkout: Path, rate: float, time: float) -> None:
    write_benchmark(checkout, "new", rate, time)
    done = compare(checkout)
    assert done.returncode == 1
    assert done.stdout.count("WORSE") == 1
