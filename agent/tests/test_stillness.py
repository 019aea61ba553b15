"""Stopping what runs on a host: a process that resists is held in a trace, and continues afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import processes, stillness

# It writes from two threads and ignores every signal that can be ignored.
_RESISTS = """
import pathlib, signal, sys, threading, time
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_IGN)
def write(path):
    for count in range(10**6):
        path.write_text(str(count))
        time.sleep(0.001)
files = [pathlib.Path(sys.argv[1]) / name for name in "ab"]
threading.Thread(target=write, args=(files[0],)).start()
write(files[1])
"""


def test_a_process_with_threads_is_held_in_a_trace_and_continues_afterwards(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"

    def written() -> tuple[str, str]:
        return first.read_text(), second.read_text()

    with subprocess.Popen([sys.executable, "-c", _RESISTS, str(tmp_path)]) as process:
        try:
            _wait_until(lambda: first.exists() and second.exists())
            trace = stillness._Trace(process.pid)
            trace.stop(Deadline.after(20))
            assert len(trace.threads) == 2
            before = written()
            time.sleep(0.1)
            assert written() == before
            trace.release()
            _wait_until(lambda: all(a != b for a, b in zip(written(), before, strict=True)))
        finally:
            process.kill()


def test_a_process_that_another_traces_can_not_be_held() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            code = f"""if True:
                from gpuaas_agent.host import stillness
                from gpuaas_agent.commands import Deadline
                import time
                stillness._Trace({process.pid}).stop(Deadline.after(20)); print("held", flush=True); time.sleep(60)"""
            folder = str(Path(stillness.__file__).parents[2])
            environment = {**os.environ, "PYTHONPATH": folder}
            argv = [sys.executable, "-c", code]
            with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as other:
                assert other.stdout is not None
                assert other.stdout.readline() == "held\n"
                with pytest.raises(TaskFailure) as refused:
                    stillness._Trace(process.pid).stop(Deadline.after(20))
                other.kill()
            assert (refused.value.code, refused.value.retryable) == ("host_not_stopped", True)
        finally:
            process.kill()


def test_all_processes_but_the_first_and_the_agent_are_ended_also_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        every = processes.snapshot()
        near = [one for one in every if one.pid in (1, os.getpid(), child.pid)]
        # Its parent, this test, has not noticed the end of the child: that does not count as a process.
        monkeypatch.setattr(processes, "snapshot", lambda: [processes._read(one.pid, False) for one in near])
        assert [one.pid for one in stillness.end_others(Deadline.after(20))] == [child.pid]
        assert stillness.end_others(Deadline.after(20)) == []


def _wait_until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)
