"""Finds what started the agent: whoever was root can have put a program of their own between systemd and the agent, or
started the agent in another root folder. Such an agent restores the host's files, and has systemd start it from them.
"""

from __future__ import annotations

import contextlib
import os
import signal

from gpuaas_agent import log
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import processes, units
from gpuaas_agent.host.baseline import Baseline
from gpuaas_agent.host.processes import Process

UNIT = "gpuaas-agent.service"


def wrappers(baseline: Baseline) -> list[Process]:
    """Return ancestors of the agent that the baseline does not explain."""
    foreign = {process.instance for process in processes.foreign(baseline.explains_process)}
    return [process for process in processes.ancestors() if process.instance in foreign]


def stop_wrappers(baseline: Baseline) -> None:
    """Keep them from acting. They are ended when the agent's unit is restored: systemd may end the agent with them."""
    _send(signal.SIGSTOP, wrappers(baseline))


def start_without_wrappers(baseline: Baseline, deadline: Deadline) -> str:
    """End them, and have systemd start the agent anew; the task then continues from the journal. The caller must have
    restored the agent's unit.
    """
    found = wrappers(baseline)
    if not found:
        return "not needed"
    log.event("restarting_agent", started_by=[process.describe() for process in found])
    units.settle(deadline.at_most(60))
    _send(signal.SIGKILL, found)
    units.restart_soon(UNIT, deadline.at_most(30))
    os._exit(1)


def faults() -> list[str]:
    """Return a line if the agent does not see the host's files."""
    own, first = os.stat("/"), os.stat("/proc/1/root/")
    same = (own.st_dev, own.st_ino) == (first.st_dev, first.st_ino)
    return [] if same else ["the agent runs in another root folder than process 1"]


def _send(sign: signal.Signals, found: list[Process]) -> None:
    for process in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, sign)
