"""Runs programs of the host: always by argument list, always with a deadline, never through a shell."""

from __future__ import annotations

import os
import select
import selectors
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import IO, cast

from gpuaas_agent.failures import DeadlineExceeded, TaskFailure

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": _PATH, "LC_ALL": "C", "LANG": "C", "SYSTEMD_PAGER": ""}

# No program that the agent runs prints as much. A tenant who was root can have replaced one.
MOST_OUTPUT = 16 << 20
_running: set[int] = set()
_starting = threading.Lock()


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
    deadline.require(doing)
    process = _start(argv, stdin is not None, {**ENVIRONMENT, **(environment or {})})
    try:
        with process:
            try:
                out, err = _communicate(process, stdin or b"", deadline, doing)
                return subprocess.CompletedProcess(argv, process.wait(deadline.require(doing)), out, err)
            except subprocess.TimeoutExpired as problem:
                raise DeadlineExceeded(doing) from problem
            finally:
                process.kill()
    finally:
        with _starting:
            _running.discard(process.pid)


def running() -> set[int]:
    """Return the pids of the programs that run now."""
    with _starting:
        return set(_running)


def _start(argv: list[str], has_input: bool, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    stdin = subprocess.PIPE if has_input else subprocess.DEVNULL
    try:
        with _starting:
            process = subprocess.Popen(
                argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
            )
            _running.add(process.pid)
            return process
    except OSError as problem:
        raise TaskFailure(
            "program_unavailable",
            f"{argv[0]} cannot be started: {problem.strerror}",
            f"Install the package that has {argv[0]} on this host.",
        ) from problem


def _communicate(process: subprocess.Popen[bytes], stdin: bytes, deadline: Deadline, doing: str) -> tuple[bytes, bytes]:
    """Write the input and read both outputs to their ends, up to `MOST_OUTPUT` bytes together."""
    out, err = cast(IO[bytes], process.stdout), cast(IO[bytes], process.stderr)
    read, waiting = {out: bytearray(), err: bytearray()}, memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for stream in read:
            selector.register(stream, selectors.EVENT_READ)
        if process.stdin is not None:
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            for key, _ in selector.select(deadline.require(doing)):
                if key.fileobj is process.stdin:
                    waiting = _write_some(process.stdin, waiting)
                    done = not waiting
                else:
                    stream = out if key.fileobj is out else err
                    portion = os.read(key.fd, 1 << 16)
                    read[stream] += portion
                    done = not portion
                if done:
                    selector.unregister(key.fileobj)
                    if key.fileobj is process.stdin:
                        process.stdin.close()
            if sum(map(len, read.values())) > MOST_OUTPUT:
                raise TaskFailure(
                    "output_too_long",
                    f"{doing} printed more than {MOST_OUTPUT >> 20} MiB",
                    "Look at this program on the host: it may have been replaced.",
                )
    return bytes(read[out]), bytes(read[err])


def _write_some(stream: IO[bytes], waiting: memoryview) -> memoryview:
    """Write what the pipe takes without waiting; a program that closed its input gets no more."""
    try:
        return waiting[os.write(stream.fileno(), waiting[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return waiting[:0]


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
