"""Telling processes apart: by the group that systemd tracks them in, and by what a restart does not change."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import cgroups, processes
from gpuaas_agent.host.processes import Process

_HYBRID = "9:name=systemd:/system.slice/ssh.service\n4:memory:/\n0::/payload\n"
_MIXED = "9:name=systemd:/\n4:memory:/\n0::/system.slice/ssh.service\n"


def _sshd(command: str) -> Process:
    return Process(44, 1, 1, False, 0, "/usr/sbin/sshd", command, "/system.slice/ssh.service")


@pytest.mark.parametrize(
    ("listing", "unified"), [(_HYBRID, False), (_MIXED, True), ("0::/system.slice/ssh.service\n", True)]
)
def test_the_group_is_the_one_that_the_hosts_systemd_uses(listing: str, unified: bool) -> None:
    assert cgroups.unit_group(listing, unified) == "/system.slice/ssh.service"


def test_a_slices_group_is_looked_for_in_every_hierarchy(tmp_path: Path) -> None:
    for name in ("memory", "systemd"):
        (tmp_path / name).mkdir()
    below = Path("system.slice/s.service")
    assert cgroups.traces_of_unit("s.service", tmp_path) == [tmp_path / "memory" / below, tmp_path / "systemd" / below]
    (tmp_path / "cgroup.controllers").touch()
    assert cgroups.traces_of_unit("s.service", tmp_path) == [tmp_path / below]


def test_an_sshd_that_is_busy_or_just_reloaded_looks_like_an_idle_one_but_not_like_another_program() -> None:
    title = "sshd: /usr/sbin/sshd -D [listener] {} of 10-100 startups"
    assert _sshd(title.format(0)).likeness == _sshd(title.format(3)).likeness
    assert _sshd(title.format(0)).likeness == _sshd("/usr/sbin/sshd -D").likeness
    assert _sshd(title.format(0)).likeness != _sshd("sshd: evil").likeness


_AGENT = """
import os, subprocess
from gpuaas_agent.host import processes
parent, look = os.getppid(), lambda known: {one.pid for one in processes.foreign(known)}
left = subprocess.Popen(["sleep", "60"])
try:
    assert parent in look(lambda one: False)
    assert parent in {one.pid for one in processes.ancestors()}
    assert parent not in look(lambda one: True)
    assert os.getpid() not in look(lambda one: False)
    assert left.pid in look(lambda one: False)
finally:
    left.kill()
"""


def test_a_parent_of_the_agent_is_foreign_and_so_is_a_child_that_it_did_not_start() -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@"; true', "bash", sys.executable, "-c", f"{_AGENT}\nprint('seen')"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(processes.__file__).parents[2])},
    )
    assert done.stdout == "seen\n", done.stderr


def test_a_program_that_the_agent_runs_is_not_foreign() -> None:
    own = threading.Thread(target=commands.attempt, args=(["sh", "-c", "sleep 5; true"], Deadline.after(30)))
    own.start()
    while not commands.running():
        time.sleep(0.01)
    (pid,) = commands.running()
    try:
        lineage = [one for one in processes.snapshot() if one.pid == pid or one.parent == pid]
        assert lineage
        assert not {one.pid for one in lineage} & {one.pid for one in processes.foreign(lambda one: False)}
    finally:
        for one in lineage:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
        own.join()


def test_a_process_that_looks_like_the_agent_is_not_known() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            twin = next(one for one in processes.snapshot() if one.pid == other.pid)
            own = next(one for one in processes.snapshot() if one.pid == os.getpid())
            assert twin.pid not in {one.pid for one in processes.foreign(lambda one: True)}
            rows = [
                (own, [own.pid]),
                (replace(twin, command=own.command, executable=own.executable, group=own.group), []),
            ]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(processes, "_lines", lambda: rows)
                assert [one.pid for one in processes.foreign(lambda one: True)] == [twin.pid]
        finally:
            other.kill()
