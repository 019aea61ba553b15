"""apt on a machine that others use too: who holds a lock is waited for."""

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

APT = Path(__file__).parents[2] / "tools/apt"
pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="needs Debian")


def test_package_lists_that_somebody_else_reads_are_waited_for(tmp_path: Path) -> None:
    (tmp_path / "lists/partial").mkdir(parents=True)
    own = ["-o", f"Dir::State::lists={tmp_path}/lists", "-o", f"Dir::Cache={tmp_path}"]
    none = ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", "Dir::Etc::sourceparts=/dev/null"]
    command = ["update", "-qq", *own, *none]
    with (tmp_path / "lists/lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        plain = subprocess.run(["apt-get", *command], capture_output=True, text=True, check=False)
        assert "Could not get lock" in plain.stderr  # what apt does by itself
        with subprocess.Popen([APT, *command], stderr=subprocess.PIPE, text=True) as waiting:
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(2)
            fcntl.lockf(lock, fcntl.LOCK_UN)
            said = waiting.communicate()[1]
    assert (waiting.returncode, said) == (0, "")


def test_what_apt_says_of_another_fault_is_passed_on_at_once() -> None:
    tried = subprocess.run([APT, "no-such-verb"], capture_output=True, text=True, check=False)
    assert tried.returncode != 0
    assert "no-such-verb" in tried.stderr
