"""A lab host with the agent on it, and a way to talk to it as a tenant would.

Nothing here looks through the agent: the tenant comes over SSH, the checks over the host's upper layer.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from little_platform import JsonObject, LittlePlatform

AGENT_UNIT = "gpuaas-agent-under-test"


@dataclass
class LabMachine:
    """`run` starts a program inside the host, as root, from outside."""

    run: Callable[..., subprocess.CompletedProcess[str]]
    address: str
    upper: Path
    slices_dir: Path
    slice_addresses: list[str]
    agent_path: str
    platform_address: str

    def write(self, path: str, text: str) -> None:
        self.run(["mkdir", "-p", str(Path(path).parent)])
        self.run(["tee", path], input=text)

    def start_agent(self, platform: LittlePlatform) -> None:
        settings = {
            "address": self.address,
            "golden_root": "/slice-base",
            "slice_driver": "lab_container",
            "slice_addresses": self.slice_addresses,
        }
        self.write("/etc/gpuaas/agent.json", json.dumps(settings))
        self.write("/etc/gpuaas/enrolment", platform.bundle())
        self.run(
            [
                "systemd-run",
                "--quiet",
                f"--unit={AGENT_UNIT}",
                f"--setenv=PYTHONPATH={self.agent_path}",
                "--property=KillMode=process",
                "--property=Restart=always",
                "--property=RestartSec=0.1",
                "python3",
                "-m",
                "gpuaas_agent",
                "run",
            ]
        )
        platform.wait_enrolled()

    def kill_agent(self) -> None:
        self.run(["systemctl", "kill", "--signal=KILL", "--kill-who=main", AGENT_UNIT])

    def agent_log(self) -> str:
        return self.run(["journalctl", "--unit", AGENT_UNIT, "--output=cat", "--no-pager"]).stdout

    def added_files(self) -> set[str]:
        """What differs from the image, seen from outside: whiteouts are in it too."""
        return {str(path.relative_to(self.upper)) for path in self.upper.rglob("*") if not path.is_dir()}


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
    seconds: dict[str, float] = field(default_factory=dict)

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
            **spec,
        }
        return self.platform.submit(kind, fields, resource_id=self.allocation_id, generation=self.generation)

    def task(self, kind: str, **spec: object) -> JsonObject:
        began = time.monotonic()
        result = self.platform.wait_result(self.submit(kind, **spec))
        self.seconds[kind] = round(time.monotonic() - began, 3)
        assert result["status"] == "succeeded", (kind, result["failure"], result["phases"])
        answer = result["result"]
        assert isinstance(answer, dict)
        if kind == "provision":
            self.ssh_address = answer["ssh"]["address"]
        return answer

    def release(self) -> JsonObject:
        self.task("deprovision")
        self.task("wipe")
        return self.task("verify_wipe")

    def ssh(self, command: str, *, key: Path | None = None) -> subprocess.CompletedProcess[str]:
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "5",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(self.folder / "known_hosts"),
        }
        argv = ["ssh", "-i", str(key or self.key)]
        for name, value in options.items():
            argv += ["-o", f"{name}={value}"]
        return subprocess.run(
            [*argv, f"gpu@{self.ssh_address}", command],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def may_log_in(self) -> bool:
        return self.ssh("true").returncode == 0


def unclean(verdict: JsonObject) -> dict[str, list[str]]:
    checks = verdict["checks"]
    assert isinstance(checks, list)
    return {check["name"]: check["found"] for check in checks if not check["clean"]}
