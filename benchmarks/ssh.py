"""From asking for a host to the first SSH login on a real lab host, against the same commands typed by hand."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Series, Size
from gpuaas_lab import Fleet, Host
from gpuaas_sdk import Allocation, NewAllocation
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.ssh_client import SshClient

HOW = """\
Two booted lab hosts (systemd and sshd of their own). Platform: POST of a bare-metal allocation, its events followed until
it is active, a certificate from the API, `ssh … true`; the agent reaches the api by HTTPS. By hand: the host's key signed
with a CA by ssh-keygen, one script with the commands that the agent's driver executes (benchmarks/by_hand.sh) run in the
other host without any network, a user certificate by ssh-keygen, `ssh … true`. Both are measured to the end of the first
successful login and undone outside the measurement; they take turns, and the first of each is not counted."""
_UNDO = (
    "userdel -r gpu 2>/dev/null; rm -rf /etc/sudoers.d/gpuaas /etc/gpuaas /etc/ssh/sshd_config.d/50-gpuaas.conf;"
    " kill -HUP $(cat /run/sshd.pid); sleep 0.3"
)
SETTLE = 120.0


@dataclass(slots=True)
class ByHand:
    """A person with a CA of their own and root on the host."""

    host: Host
    directory: Path

    def __post_init__(self) -> None:
        for name in ("ca", "key"):
            _keygen("-q", "-t", "ed25519", "-N", "", "-f", str(self.directory / name))
        authority = (self.directory / "ca.pub").read_text()
        (self.directory / "known").write_text(f"@cert-authority * {authority}")

    def seconds(self) -> float:
        begun = time.perf_counter()
        (self.directory / "host.pub").write_text(self.host.read_file("/etc/ssh/ssh_host_ed25519_key.pub"))
        self._sign("host.pub", "-h", "-n", self.host.address, "-V", "+1d")
        script = (Path(__file__).parent / "by_hand.sh").read_text()
        values = {
            "USER_CA": (self.directory / "ca.pub").read_text().strip(),
            "HOST_CERT": (self.directory / "host-cert.pub").read_text().strip(),
            "PRINCIPAL": "by-hand",
        }
        settings = [f"{name}={value}" for name, value in values.items()]
        self.host.run(["env", *settings, "bash", "-s"], input=script)
        self._sign("key.pub", "-n", "by-hand", "-V", "+15m")
        self._log_in()
        taken = time.perf_counter() - begun
        self.host.run(["sh", "-c", _UNDO])
        return taken

    def _sign(self, public: str, *options: str) -> None:
        ca = str(self.directory / "ca")
        _keygen("-q", "-s", ca, "-I", "by-hand", *options, str(self.directory / public))

    def _log_in(self) -> None:
        options = ["-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=yes"]
        options += ["-o", f"UserKnownHostsFile={self.directory / 'known'}", "-i", str(self.directory / "key")]
        subprocess.run(
            ["ssh", "-F", "none", *options, f"gpu@{self.host.address}", "true"], check=True, stdin=subprocess.DEVNULL
        )


def _keygen(*arguments: str) -> None:
    subprocess.run(["ssh-keygen", *arguments], check=True, timeout=20, capture_output=True)


@dataclass(slots=True)
class OnPlatform:
    sandbox: Sandbox
    directory: Path

    def seconds(self) -> float:
        admin, project_id = self.sandbox.admin, self.sandbox.project_id
        begun = time.perf_counter()
        made = admin.allocations.create(project_id, NewAllocation(sku="h100-node"))[0]
        live = self._settled(made)
        if live.state != "active":
            raise RuntimeError(f"the allocation is {live.state}: {live.failure}")
        ssh_client = SshClient(admin, project_id, made.id, self.directory)
        ssh_client.get_certificate()
        answer = ssh_client.run("true")
        taken = time.perf_counter() - begun
        if answer.returncode != 0:
            raise RuntimeError(f"no login: {answer.stderr}")
        admin.allocations.release(project_id, made.id)
        ended = self._settled(made)
        if ended.state != "released":
            raise RuntimeError(f"the release ended {ended.state}: {ended.failure}")
        return taken

    def _settled(self, made: Allocation) -> Allocation:
        return list(self.sandbox.admin.allocations.follow(self.sandbox.project_id, [made.id], SETTLE))[-1]


@contextmanager
def _site(directory: Path) -> Iterator[tuple[OnPlatform, ByHand]]:
    """One host for the platform's agent, one for the person."""
    with (
        lab_site("bench-ssh", 1) as (sandbox, _),
        Fleet(name=f"bench-ssh-by-hand-{os.getpid()}", hosts=1) as other,
    ):
        yield OnPlatform(sandbox, directory), ByHand(other.hosts[0], directory)


def run(size: Size) -> list[Figure]:
    missing = Fleet.requirements()
    if missing:
        return [Figure("allocate to SSH", float("nan"), "×", note=f"not measured: {'; '.join(missing)}")]
    series = Series()
    with tempfile.TemporaryDirectory() as directory, _site(Path(directory)) as (platform, by_hand):
        for number in range(size.rounds + 1):
            for name, side in (("by hand", by_hand), ("platform", platform)):
                seconds = side.seconds()
                if number:
                    series.add(name, seconds)
    note = f"{series.median('platform'):.2f} s against {series.median('by hand'):.2f} s"
    ratio = series.ratio("platform", "by hand")
    return [Figure("allocate to SSH login, against by hand", ratio, "×", 1.5, at_least=False, note=note)]
