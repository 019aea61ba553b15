"""Somebody who reads a tutorial and types what it says: each line that a page shows must come."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk import Client, PasswordCredentials
from system_support.documents import Example

ADDRESS = "http://127.0.0.1:8080"  # as the pages have it
ADMINISTRATOR = "admin@gpuaas.local"
FOLLOWS = "gpuaas events follow"
HANG = 180.0  # seconds, after which nobody waits any more


@dataclass(frozen=True)
class Background:
    """A command in a terminal of its own."""

    example: Example
    process: "subprocess.Popen[str]"
    output: Path

    def said(self) -> str:
        return self.output.read_text()

    def end(self) -> None:
        """Ctrl-C, once it has said what the page shows, or has been waited for long enough."""
        deadline = time.monotonic() + HANG
        while missing_lines(self.example, self.said()) and self.process.poll() is None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(HANG)
        assert self.process.returncode == (0 if "ends well" in self.example.mark else 130), (self.example, self.said())
        compare(self.example, self.said())


@dataclass
class Reader:
    """Follows the tutorial in a shell of its own, against the server at `url`."""

    home: Path
    url: str
    password: str
    folder: Path | None = None
    background: list[Background] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GPUAAS_")}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**kept, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"), "PATH": path}

    def follow(self, example: Example) -> None:
        command = example.command.replace(ADDRESS, self.url)
        if example.mark.startswith("background"):
            self._start(example, command)
            return
        typed = None
        if command.startswith("gpuaas login"):
            command, typed = f"{command} --password-stdin", f"{self.password}\n"
        result = subprocess.run(
            ["bash", "-c", command],
            env=self.environment,
            cwd=self.folder or self.home,
            input=typed or "",
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )
        said = result.stdout + result.stderr
        assert (result.returncode != 0) == ("fails" in example.mark), f"{example}\n{said}"
        compare(example, said)

    def _start(self, example: Example, command: str) -> None:
        output = self.home / f"background-{len(self.background)}.txt"
        with output.open("w") as file:
            # Unbuffered: a file is no terminal, and lines must come when they happen.
            shell = subprocess.Popen(
                ["bash", "-c", f"PYTHONUNBUFFERED=1 exec {command}"],
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
            )
        started = Background(example, shell, output)
        self.background.append(started)
        if command == FOLLOWS:
            self._wait_until_it_hears(started)

    def _wait_until_it_hears(self, follower: Background) -> None:
        """It says nothing of its own: something happens in the project, until it tells of that."""
        client = Client(self.url, credentials=PasswordCredentials(ADMINISTRATOR, self.password))
        [acme] = [one for one in client.tenants.list() if one.slug == "acme"]
        [project] = [one for one in client.projects.list() if (one.tenant_id, one.slug) == (acme.id, "training")]
        deadline = time.monotonic() + HANG
        while not follower.said():
            assert follower.process.poll() is None, follower
            assert time.monotonic() < deadline, f"{follower.example} tells of nothing"
            client.projects.update(project.id, name=project.name)
            time.sleep(0.5)

    def finish(self) -> None:
        for one in self.background:
            one.end()


def missing_lines(example: Example, said: str) -> list[str]:
    """Shown lines that are nowhere in what was said; … stands for anything, and blanks are blanks."""
    lines = [" ".join(line.split()) for line in said.splitlines()]
    patterns = {
        shown: ".*".join(re.escape(" ".join(part.split())) for part in shown.split("…")) for shown in example.output
    }
    return [shown for shown, wanted in patterns.items() if not any(re.search(wanted, line) for line in lines)]


def compare(example: Example, said: str) -> None:
    missing = missing_lines(example, said)
    assert not missing, f"{example}\nshows: {missing}\nbut was:\n{said}"
