"""One check of a verification: what it examined, what it found, and which source it relies on.

A check that failed is `found`, with the reason; a check that did not run is `not_examined`. Neither is clean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.printable import printable

MOST_FINDINGS = 50
# How many things were examined, and which of them should not be there.
Finding = tuple[int, list[str]]
Status = Literal["clean", "found", "not_examined"]
# The source that a check relies on. `baseline`: the earlier state of the host, whose digest the platform knows.
# `platform`: what the task says. `agent`: the agent's own records. `kernel`: the running kernel.
ReliesOn = Literal["baseline", "platform", "agent", "kernel"]


class NotExamined(Exception):
    """The check has nothing to compare with, or is switched off. The message says which."""


@dataclass(frozen=True)
class Check:
    name: str
    status: Status
    found: list[str]
    examined: int
    relies_on: ReliesOn
    detail: str = ""

    @property
    def clean(self) -> bool:
        return self.status == "clean"

    def wire(self) -> dict[str, object]:
        told: dict[str, object] = {
            "name": self.name,
            "status": self.status,
            "clean": self.clean,
            "found": self.found,
            "examined": self.examined,
            "relies_on": self.relies_on,
        }
        return told | ({"detail": self.detail} if self.detail else {})


def check(name: str, look: Callable[[], Finding], relies_on: ReliesOn = "baseline", detail: str = "") -> Check:
    """Run one check. The list of findings is bounded; its last line gives their number."""
    try:
        examined, found = look()
    except NotExamined as reason:
        return Check(name, "not_examined", [], 0, relies_on, printable(str(reason)))
    except (OSError, ValueError, TaskFailure) as problem:
        return Check(name, "found", [printable(f"could not look: {problem}")], 0, relies_on, detail)
    listed = [printable(line) for line in found[:MOST_FINDINGS]]
    if len(found) > MOST_FINDINGS:
        listed.append(f"… {len(found)} in all")
    return Check(name, "found" if found else "clean", listed, examined, relies_on, detail)


def wire(checks: list[Check], grade: str = "inspected") -> dict[str, object]:
    """Return the result of a verification. The platform's policy decides about checks that were not examined."""
    return {
        "clean": all(entry.status != "found" for entry in checks),
        "grade": grade,
        "checks": [entry.wire() for entry in checks],
    }
