"""What a test starts ends with it."""

import os
import shlex
import signal
import subprocess
import sys
import time

from gpuaas_sdk.testing.child_process import ending_with_test

PARENT = """
import subprocess
from gpuaas_sdk.testing.child_process import ending_with_test
child = subprocess.Popen(ending_with_test(["sleep", "600"]))
print(child.pid, flush=True)
child.wait()
"""


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_child_ends_with_a_test_process_that_was_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        assert is_running(child)
        parent.kill()
        parent.wait(30)
        deadline = time.monotonic() + 30
        while is_running(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(child)
    finally:
        parent.stdout.close()
        if is_running(child):
            os.kill(child, signal.SIGKILL)


def test_a_child_whose_parent_ended_before_it_was_bound_does_not_begin() -> None:
    """Here the parent is a shell, which to the child is what adopts it after the test has gone."""
    command = shlex.join(ending_with_test(["echo", "ran"]))
    assert subprocess.run(["sh", "-c", f"{command}; true"], capture_output=True, timeout=60).stdout == b""


def test_the_child_is_the_command_itself() -> None:
    child = subprocess.Popen(
        ending_with_test([sys.executable, "-c", "import os; print(os.getpid())"]), stdout=subprocess.PIPE
    )
    out, _ = child.communicate(timeout=60)
    assert int(out) == child.pid
