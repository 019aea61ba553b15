"""Runs a task as a list of named steps and records when each began and ended, and its outcome.

Every step is repeatable: after a crash the whole list runs again from the top.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpuaas_agent import log, protocol
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import Superseded, TaskFailure
from gpuaas_agent.printable import printable

PROGRESS_AFTER_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    """`run` returns a short detail for the record, or None. `when` False records a skip."""

    name: str
    run: Callable[[], str | None]
    when: bool = True


@dataclass
class PhaseRunner:
    deadline: Deadline
    superseded: Callable[[], bool] = lambda: False
    report: Callable[[list[protocol.Phase]], None] = lambda phases: None
    phases: list[protocol.Phase] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def run(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._run_one(step)

    def _run_one(self, step: Step) -> None:
        started = protocol.timestamp()
        if not step.when:
            self.phases.append(protocol.Phase(step.name, "skipped", started, started))
            return
        if self.superseded():
            raise Superseded
        self.deadline.require(step.name)
        phase = protocol.Phase(step.name, "running", started)
        self.phases.append(phase)
        if time.monotonic() - self._began > PROGRESS_AFTER_SECONDS:
            self.report(self.phases)
        try:
            phase.detail = printable(step.run() or "", 500)
            phase.status = "succeeded"
        except Exception as problem:
            phase.status = "failed"
            phase.detail = printable(str(problem), 500)
            raise
        finally:
            phase.finished_at = protocol.timestamp()


def failure_of(problem: Exception) -> protocol.Failure:
    """Turn an exception into a coded failure; an unexpected one is named by its type."""
    if isinstance(problem, TaskFailure):
        return protocol.Failure(problem.code, printable(problem.message, 1000), problem.next_step, problem.retryable)
    if isinstance(problem, OSError):
        return protocol.Failure(
            "host_io_error",
            printable(f"{problem.strerror or problem}: {problem.filename or ''}", 500),
            "Look at the host's disk and permissions; the task is safe to repeat.",
            True,
        )
    log.error("task_crashed", kind=type(problem).__name__, message=str(problem)[:500])
    return protocol.Failure(
        "agent_internal_error",
        printable(f"{type(problem).__name__} in the agent: {problem}", 350),
        "Report this with the agent's log.",
        True,
    )
