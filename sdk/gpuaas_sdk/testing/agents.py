"""Simulated agents in a separate process, which can be killed and restarted as the same nodes."""

import os
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk.testing.child_process import ending_with_test


@dataclass
class SimulatedAgents:
    bundle_file: Path
    arguments: list[str]
    seed: str = field(default_factory=lambda: secrets.token_hex(8))
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "gpuaas_agent.sim", "--bundle-file", str(self.bundle_file)]
        command += ["--key-seed", self.seed, *self.arguments]
        self.process = subprocess.Popen(ending_with_test(command), stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(60)
            self.process = None

    def restart(self) -> None:
        """Kills the agents and starts the same nodes again: they keep their keys and lose their state in memory."""
        self.kill()
        self.start()
