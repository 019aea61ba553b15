"""The state of a probe after each run, by its thresholds. Pure.

pending → passing ⇄ failing
   └──────────────────↑  the start period is over, and it has failed as often as counts
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpuaas_agent.probes.spec import Probe

Status = Literal["pending", "passing", "failing"]
_FIRST_PAUSE = 0.25
_GROWTH = 1.5


@dataclass(frozen=True)
class Answer:
    passed: bool
    text: str  # what was seen, such as "HTTP 503"; short and printable


@dataclass(frozen=True)
class ProbeState:
    """`since` is Unix time; `streak` counts runs with the same outcome; `pause` is the time until the next run."""

    status: Status
    since: float
    passed: bool = False
    streak: int = 0
    answer: str = ""
    pause: float = _FIRST_PAUSE

    @property
    def is_reported(self) -> bool:
        """Tell whether the probe has a state to report. It has none before its first run."""
        return self.streak > 0


def next_state(probe: Probe, state: ProbeState, answer: Answer, running_for: float, now: float) -> ProbeState:
    """Return the state after a run. `running_for`: seconds since the probe was first run."""
    streak = state.streak + 1 if answer.passed == state.passed else 1
    status = _status(probe, state.status, answer.passed, streak, running_for)
    pause = min(state.pause * _GROWTH, probe.interval) if status == "pending" else probe.interval
    since = state.since if status == state.status else now
    return replace(
        state, status=status, since=since, passed=answer.passed, streak=streak, answer=answer.text, pause=pause
    )


def is_finished(probe: Probe, state: ProbeState) -> bool:
    """Tell whether the probe need not run any more. A probe without liveness ends when its start is decided."""
    return not probe.liveness and state.status != "pending"


def _status(probe: Probe, before: Status, passed: bool, streak: int, running_for: float) -> Status:
    if passed:
        return "passing" if streak >= probe.successes else before
    if before == "pending" and running_for < longest_start(probe):
        return "pending"
    return "failing" if streak >= probe.failures else before


def longest_start(probe: Probe) -> float:
    """Return the seconds that a probe may take to pass for the first time."""
    return probe.start_period + probe.failures * (probe.interval + probe.timeout)
