"""A lab host with the agent on it, and a way to talk to it as a tenant would.

Nothing here looks through the agent: the tenant comes over SSH, the checks over the host's upper layer.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from little_platform import JsonObject, LittlePlatform

from gpuaas_lab import Fleet, Host


@dataclass
class LabMachine:
    host: Host
    platform_address: str

    @property
    def address(self) -> str:
        return self.host.address

    def run(self, argv: list[str], *, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Inside the host, as root, without its sshd."""
        return self.host.run(argv, check=check, input=text)

    def start_agent(self, platform: LittlePlatform) -> None:
        self.host.start_agent(platform.bundle())
        platform.wait_enrolled()

    def added_files(self) -> set[str]:
        """What differs from the image, seen from outside: whiteouts are in it too."""
        upper = self.host.upper
        return {str(path.relative_to(upper)) for path in upper.rglob("*") if not path.is_dir()}


@contextmanager
def lab_machine() -> Iterator[LabMachine]:
    """One host of a fleet of its own, gone when the block ends."""
    with Fleet(name=f"agent-{os.getpid()}", hosts=1) as fleet:
        yield LabMachine(fleet.hosts[0], fleet.gateway)


@dataclass
class Tenant:
    """One allocation's life, told as tasks, with the SSH access of the person who has it."""

    platform: LittlePlatform
    machine: LabMachine
    folder: Path
    shape: str = "baremetal"
    allocation_id: str = field(default_factory=lambda: f"alc_{secrets.token_hex(6)}")
    generation: int = 0
    ssh_address: str = ""
    grade: str = "inspected"
    wipe_id: str = field(default_factory=lambda: secrets.token_hex(16))
    seconds: dict[str, float] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key = self.folder / f"id_{self.allocation_id}"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)
        self.platform.user_certificate(self.key, self.allocation_id, serial=7)
        known = f"@cert-authority * {self.platform.public('host_ca')}\n"
        (self.folder / "known_hosts").write_text(known)
        self.slots: list[JsonObject] = [
            {"slot_index": n, "pci_address": f"0000:{0x10 + n:02x}:00.0", "nvme_device": None} for n in range(2)
        ]

    def submit(self, kind: str, **spec: object) -> str:
        self.generation += 1
        fields: JsonObject = {
            "allocation_id": self.allocation_id,
            "shape": self.shape,
            "slots": self.slots,
            "login_user": "gpu",
            "principal": self.allocation_id,
            "user_ca_keys": [self.platform.public("user_ca")],
            "grants": [],
            **(self._wipe_order(kind) if kind in ("wipe", "verify_wipe") else {}),
            **spec,
        }
        return self.platform.submit(
            kind, fields, resource_id=self.allocation_id, generation=self.generation, seconds=self._longest
        )

    @property
    def _longest(self) -> float:
        """How long a task may take: a wipe of the grade `rebooted` has the boot of a host in it."""
        return 300.0 if self.grade == "rebooted" else 60.0

    def _wipe_order(self, kind: str) -> JsonObject:
        if kind == "wipe":
            self.wipe_id = secrets.token_hex(16)
        if self.shape != "baremetal":
            return {"erase_drives": True}
        return {"grade": self.grade, "wipe_id": self.wipe_id, **self.platform.wipe_order()}

    def task(self, kind: str, **spec: object) -> JsonObject:
        began = time.monotonic()
        result = self.platform.wait_result(self.submit(kind, **spec), self._longest)
        self.seconds[kind] = round(time.monotonic() - began, 3)
        assert result["status"] == "succeeded", (kind, result["failure"], result["phases"])
        answer = result["result"]
        assert isinstance(answer, dict)
        self.evidence[kind] = result["evidence"]
        if kind == "provision":
            self.ssh_address = answer["ssh"]["address"]
        return answer

    def release(self) -> JsonObject:
        self.task("deprovision")
        self.task("wipe")
        return self.task("verify_wipe")

    def ssh(self, command: str, *, key: Path | None = None) -> subprocess.CompletedProcess[str]:
        argv = self._ssh_command(command, key)
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    @contextmanager
    def open_session(self, command: str, *, key: Path | None = None) -> Iterator[subprocess.Popen[str]]:
        """A session that goes on; its command says "up" first."""
        pipe = subprocess.PIPE
        with subprocess.Popen(self._ssh_command(command, key), stdin=pipe, stdout=pipe, text=True) as session:
            assert session.stdout is not None
            assert session.stdout.readline() == "up\n"
            try:
                yield session
            finally:
                session.kill()

    def _ssh_command(self, command: str, key: Path | None) -> list[str]:
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "30",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(self.folder / "known_hosts"),
        }
        argv = ["ssh", "-F", "none", "-i", str(key or self.key)]
        for name, value in options.items():
            argv += ["-o", f"{name}={value}"]
        return [*argv, f"gpu@{self.ssh_address}", command]

    def may_log_in(self) -> bool:
        return self.ssh("true").returncode == 0


def unclean(verdict: JsonObject) -> dict[str, list[str]]:
    checks = verdict["checks"]
    assert isinstance(checks, list)
    # On a lab host the kernel is never seen as a whole, because it is every host's; what is found there counts.
    return {
        check["name"]: check["found"]
        for check in checks
        if not check["clean"] and (check["name"], check["status"]) != ("kernel", "not_examined")
    }
