"""Simulated agents in a process of their own, which can be killed and started again as the same nodes."""

import os
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class SimulatedAgents:
    bundle_file: Path
    arguments: list[str]
    seed: str = field(default_factory=lambda: secrets.token_hex(8))
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "gpuaas_agent.sim", "--bundle-file", str(self.bundle_file)]
        self.process = subprocess.Popen([*command, "--key-seed", self.seed, *self.arguments], stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(60)
            self.process = None

    def restart(self) -> None:
        """kill -9, and the same nodes again: they have their keys, and have forgotten what they were doing."""
        self.kill()
        self.start()
