"""A real node agent as a process of its own: `python -m system_support.agent_process ROOT POINT --config FILE run`.

It is the agent's own command line with two additions. SSH host keys are read and written under ROOT instead of `/`, so that
the machine of the tests keeps its own. At POINT of a key renewal the process kills itself with SIGKILL, once; "" is never.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuaas_agent import __main__, node_key, wire
from gpuaas_agent.host import sshd

TESTS = Path(__file__).parents[1]


def kill_before(owner: Any, name: str, is_moment: Callable[..., bool] = lambda *_, **__: True) -> None:
    """Replace a function by one that kills this process at the moment, and is the function itself otherwise."""
    function = getattr(owner, name)

    def killed(*arguments: Any, **named: Any) -> Any:
        if is_moment(*arguments, **named):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)

    setattr(owner, name, killed)


def _is_key_request(connection: object, method: str, path: str, *_: object, **__: object) -> bool:
    return path == "/key"


POINTS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "next key not sent": lambda: kill_before(wire.Wire, "call", _is_key_request),
    "answer not used": lambda: kill_before(node_key.NodeKeyRenewal, "_adopt"),
    "life not stored": lambda: kill_before(node_key.NodeKeyRenewal, "_remember"),
}


@dataclass
class AgentProcess:
    """An agent with its own folder; `start` again after it has ended continues from what is on its disk."""

    folder: Path
    bundle: str
    process: subprocess.Popen[bytes] | None = None
    log_file: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log_file = self.folder / "agent.log"
        (self.folder / "root" / "etc" / "ssh").mkdir(parents=True)
        (self.folder / "enrolment").write_text(self.bundle)
        places = {"state_dir": str(self.state), "bundle_path": str(self.folder / "enrolment")}
        address = f"127.{secrets.randbelow(256)}.{secrets.randbelow(256)}.2"  # an address belongs to one node
        own = {"hostname": self.folder.name, "address": address, "bare_metal_driver": "none"}
        (self.folder / "agent.json").write_text(json.dumps({**places, **own}))

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def start(self, point: str = "") -> None:
        command = [sys.executable, "-m", "system_support.agent_process", str(self.folder / "root"), point]
        command += ["--config", str(self.folder / "agent.json"), "run"]
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=TESTS, stdout=log, stderr=log)

    def wait_killed(self) -> None:
        assert self.process is not None
        assert self.process.wait(120) == -signal.SIGKILL, self.log_file.read_text()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)


def main() -> int:
    root, point = sys.argv[1:3]
    sshd.ROOT = Path(root)
    POINTS[point]()
    sys.argv = ["gpuaas-agent", *sys.argv[3:]]
    return __main__.main()


if __name__ == "__main__":
    sys.exit(main())
