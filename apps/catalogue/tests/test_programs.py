"""The programs of a build end with it, however it ends: nothing fills a folder that the next build removes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.programs import run_isolated, run_program

HANG = 60.0
BUILD = "import sys; from gpuaas_catalogue.images.programs import run_isolated; run_isolated(sys.argv[1:], 600)"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


def filling(file: Path) -> list[str]:
    """A program whose child goes on for ever."""
    return ["sh", "-c", f"(while true; do echo >>{file}; sleep 0.05; done) & wait"]


def wait_until_filled(file: Path) -> None:
    deadline = time.monotonic() + HANG
    while not file.exists():
        assert time.monotonic() < deadline, "it did not start"
        time.sleep(0.05)


def is_filled(file: Path) -> bool:
    """Whether it still grows, after a moment to end."""
    time.sleep(0.5)
    before = file.stat().st_size
    time.sleep(0.5)
    return file.stat().st_size > before


@needs_root
def test_what_a_build_runs_ends_when_the_build_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "filled"
    build = subprocess.Popen([sys.executable, "-c", BUILD, *filling(file)])
    wait_until_filled(file)
    build.kill()
    build.wait(HANG)
    assert not is_filled(file)


@needs_root
def test_what_a_build_runs_ends_when_its_time_is_over(tmp_path: Path) -> None:
    file = tmp_path / "filled"
    with pytest.raises(BuildFailed, match=r"^sh did not end in 1 s"):
        run_isolated(filling(file), 1.0)
    assert not is_filled(file)


def test_a_program_gives_its_status_and_what_it_wrote() -> None:
    done = run_program(["sh", "-c", "echo $WORD; echo wrong >&2; exit 3"], HANG, {"WORD": "right"})
    assert (done.returncode, done.stdout, done.stderr) == (3, "right\n", "wrong\n")
