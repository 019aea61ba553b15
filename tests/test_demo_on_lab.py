"""`make demo` and `make up` as a newcomer runs them: the whole story ends well, and Ctrl-C leaves nothing at any moment."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpuaas_lab import leftovers, records

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

# The verbs and commands that the story is about, as its lines on the screen show them.
SHOWN = (
    *("$ sinfo -N", "$ srun -N2 hostname", "$ sbatch --wait", "--gres=gpu:2"),
    *("✓ drain", "✓ clear", "✓ write-key", "Receipt rcp_"),
    *("Launch JupyterLab as a member of the project", "the kernel answered (5050, 1000, 8)"),
)


@contextmanager
def demo(folder: Path, *arguments: str, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    folder.chmod(0o755)
    environment = {**os.environ, "GPUAAS_DATA_DIR": str(folder), "COLUMNS": "200", "PYTHONUNBUFFERED": "1", **variables}
    command = [sys.executable, "-m", "gpuaas_lab.demo", *arguments]
    # Into a file: a pipe that nobody reads would stop it.
    with (folder / "said.txt").open("w") as said:
        running = subprocess.Popen(command, env=environment, stdout=said, stderr=said, text=True)
    try:
        yield running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
            running.wait(300)


def test_the_demo_takes_a_cluster_from_nothing_to_a_receipt(tmp_path: Path) -> None:
    with demo(tmp_path) as running:
        assert running.wait(840) == 0, (tmp_path / "said.txt").read_text()
        name = f"demo-{running.pid}"
    report = json.loads((tmp_path / "demo-report.json").read_text())
    assert (report["mode"], report["verdict"], report["left_out"]) == ("on real lab hosts", "passed", [])
    assert {step["verdict"] for step in report["steps"]} == {"ok"}
    assert report["seconds"] == pytest.approx(sum(step["seconds"] for step in report["steps"]), abs=0.1)
    said = (tmp_path / "said.txt").read_text()
    assert [line for line in SHOWN if line not in said] == []
    assert remains(tmp_path, name, None) == []


@pytest.mark.parametrize(
    "seconds", [pytest.param(3.0, marks=pytest.mark.slow), 10.0, pytest.param(30.0, marks=pytest.mark.slow)]
)
def test_ctrl_c_leaves_nothing_of_what_make_up_had_begun(seconds: float, tmp_path: Path) -> None:
    with demo(tmp_path, "--stay") as running:
        wait_for_first_words(tmp_path / "said.txt")
        time.sleep(seconds)
        name = f"demo-{running.pid}"
        record = records.load(name)
        assert remains(tmp_path, name, None if record is None else record.number)  # there is something to leave
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 0, (tmp_path / "said.txt").read_text()
    assert remains(tmp_path, name, None if record is None else record.number) == []


def test_ctrl_c_while_the_demo_loads_ends_it_without_a_traceback(tmp_path: Path) -> None:
    slow = tmp_path / "slow" / "sitecustomize.py"  # holds the demo up at its first own import
    slow.parent.mkdir()
    slow.write_text(
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'gpuaas_lab.demo.run':\n"
        "            print('loads', flush=True)\n"
        "            time.sleep(300)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    with demo(tmp_path, "--stay", PYTHONPATH=str(slow.parent)) as running:
        wait_for_first_words(tmp_path / "said.txt")
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 0
    assert (tmp_path / "said.txt").read_text() == "loads\nInterrupted; nothing of it runs.\n"


def wait_for_first_words(said: Path) -> None:
    deadline = time.monotonic() + 300
    while not said.stat().st_size:
        assert time.monotonic() < deadline, "nothing was printed"
        time.sleep(0.1)


def remains(folder: Path, fleet: str, number: int | None) -> list[str]:
    """Of the fleet on this machine, and of every process that was told about the data folder."""
    found = [] if number is None else leftovers(number)
    found += [line for line in leftovers() if fleet in line]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue  # it has ended
        if process.name != str(os.getpid()) and str(folder).encode() in told:
            found.append(f"process {process.name}: {told[:80]!r}")
    found += [str(secret) for secret in folder.rglob("*.secret")]
    return found
