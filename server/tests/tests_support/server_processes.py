"""Real processes of `gpuaas-server`, started by hand, with what they wrote to stderr."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

Found = TypeVar("Found")
WAIT_SECONDS = 120.0


def until(look: Callable[[], Found | None], what: str) -> Found:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {WAIT_SECONDS:.0f} s")


def environment(directory: Path, **settings: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GPUAAS_")}
    named = {"data_dir": str(directory / "var"), "worker_metrics_bind": "", "platform_apps": "none", **settings}
    return plain | {f"GPUAAS_{name.upper()}": value for name, value in named.items()}


@dataclass
class ServerProcess:
    process: subprocess.Popen[bytes]
    log_file: Path
    url: str

    def lines(self) -> list[dict[str, Any]]:
        """Each line of stderr is a JSON object, whatever happened."""
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]

    def messages(self, logger: str) -> list[str]:
        return [line["message"] for line in self.lines() if line["logger"] == logger]

    def answer(self, path: str) -> httpx.Response | None:
        assert self.process.poll() is None, self.log_file.read_text()
        try:
            return httpx.get(f"{self.url}{path}", timeout=20)
        except httpx.TransportError:
            return None

    def is_ready(self) -> bool:
        answer = self.answer("/readyz")
        return answer is not None and answer.status_code == 200

    def cause(self) -> str:
        """Why it is not ready; empty when it is, or says nothing."""
        answer = self.answer("/readyz")
        return "" if answer is None or answer.status_code == 200 else str(answer.json()["detail"])


@contextmanager
def running(
    part: str, directory: Path, port: int, *, under: Sequence[str] = (), **settings: str
) -> Iterator[ServerProcess]:
    """Run a part of the server. `under` is a program that becomes it, with its options."""
    bind = {"http_bind": f"127.0.0.1:{port}", "log_level": "WARNING"}
    log_file = directory / f"{part}.log"
    command = [*under, sys.executable, "-m", "gpuaas_server.main", part]
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            command, env=environment(directory, **bind | settings), stdout=subprocess.DEVNULL, stderr=log
        )
    try:
        yield ServerProcess(process, log_file, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(60)


def run(arguments: list[str], directory: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """To its end."""
    command = [sys.executable, "-m", "gpuaas_server.main", *arguments]
    return subprocess.run(
        command,
        env=environment(directory, **settings),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
