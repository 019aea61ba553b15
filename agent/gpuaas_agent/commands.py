"""Runs programs of the host: always by argument list, always with a deadline, never through a shell."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass

from gpuaas_agent.failures import DeadlineExceeded, TaskFailure

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": _PATH, "LC_ALL": "C", "LANG": "C", "SYSTEMD_PAGER": ""}


@dataclass(frozen=True)
class Deadline:
    """A point on the monotonic clock by which a task must be over."""

    at: float

    @staticmethod
    def after(seconds: float) -> Deadline:
        return Deadline(time.monotonic() + seconds)

    def remaining(self) -> float:
        return self.at - time.monotonic()

    def require(self, doing: str) -> float:
        left = self.remaining()
        if left <= 0:
            raise DeadlineExceeded(doing)
        return left

    def at_most(self, seconds: float) -> Deadline:
        return Deadline(min(self.at, time.monotonic() + seconds))


def attempt(
    argv: list[str],
    deadline: Deadline,
    *,
    stdin: bytes | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end and return its status and output. A missing program is a failure."""
    doing = " ".join(argv[:2])
    try:
        return subprocess.run(
            argv,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=deadline.require(doing),
            env={**ENVIRONMENT, **(environment or {})},
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise DeadlineExceeded(doing) from problem
    except OSError as problem:
        raise TaskFailure(
            "program_unavailable",
            f"{argv[0]} cannot be started: {problem.strerror}",
            f"Install the package that has {argv[0]} on this host.",
        ) from problem


def run(
    argv: list[str],
    deadline: Deadline,
    *,
    stdin: bytes | None = None,
    environment: dict[str, str] | None = None,
) -> str:
    """Run a program and return its output; any exit status but 0 is a coded failure."""
    done = attempt(argv, deadline, stdin=stdin, environment=environment)
    if done.returncode != 0:
        output = (done.stderr or done.stdout).decode(errors="replace").strip()[-500:]
        raise TaskFailure(
            "host_command_failed",
            f"{' '.join(argv[:3])} ended with {done.returncode}: {output}",
            "Look at the host; the task is safe to repeat.",
            retryable=True,
        )
    return done.stdout.decode(errors="replace")
