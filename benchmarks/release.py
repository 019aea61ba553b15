"""Measures the release of a whole host until it is available again, with its restart, against the same steps by hand."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Series, Size
from gpuaas_lab import Fleet, Host, LabError
from gpuaas_lab.demo.steps.allocations import LITTER
from gpuaas_sdk import Allocation, NewAllocation
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.ssh_client import SshClient

HOW = """\
Two booted lab hosts (systemd and sshd of their own), each with a tenant who was root and left a file, a crontab and a
service. Platform: POST of the release of a bare-metal allocation whose SKU requires `rebooted`, its events followed until it
is released, which is when its GPUs are on offer again. By hand: a script of ordinary commands (benchmarks/release_by_hand.sh),
run as root in the other host without any network: sessions ended, every file compared with a record of before by content,
what was added removed and what was changed put back, the host restarted, its SSH keys made anew, every file, running
program, port, mount, unit, route and packet filter compared again. The lease is made outside the measurement; the two take
turns, and the first of each is not counted. No drive is erased: lab hosts have none."""
SETTLE = 300.0
RECORDS = "/var/lib/release-by-hand"
NAME = "release of a whole host to available, restart included, against by hand"


@dataclass(slots=True)
class ByHand:
    """A person with root on the host, with a record of its earlier state."""

    host: Host

    def __post_init__(self) -> None:
        self._run("baseline")

    def seconds(self) -> float:
        self._run("lease")
        boot_id = _boot_id(self.host)
        begun = time.perf_counter()
        self._run("wipe", check=False)
        _wait_for_restart(self.host, boot_id)
        self._run("check")
        self.host.wait_ssh()
        return time.perf_counter() - begun

    def _run(self, verb: str, check: bool = True) -> None:
        script = (Path(__file__).parent / "release_by_hand.sh").read_text()
        command = ["env", f"RECORDS={RECORDS}", f"LITTER={LITTER}", "bash", "-s", verb]
        done = self.host.run(command, input=script, check=False, timeout=SETTLE)
        if check and done.returncode != 0:
            raise RuntimeError(f"{verb} by hand failed: {(done.stdout + done.stderr)[-2000:]}")


def _boot_id(host: Host) -> str:
    return host.read_file("/proc/sys/kernel/random/boot_id").strip()


def _wait_for_restart(host: Host, before: str) -> None:
    deadline = time.monotonic() + SETTLE
    while time.monotonic() < deadline:
        with suppress(LabError):
            if _boot_id(host) != before:
                host.wait_ssh()
                return
        time.sleep(0.02)
    raise RuntimeError("the host did not come back from its restart")


@dataclass(slots=True)
class OnPlatform:
    sandbox: Sandbox
    directory: Path

    def seconds(self) -> float:
        admin, project_id = self.sandbox.admin, self.sandbox.project_id
        made = admin.allocations.create(project_id, NewAllocation(sku="h100-node"))[0]
        self._settled(made, "active")
        ssh_client = SshClient(admin, project_id, made.id, self.directory)
        ssh_client.get_certificate()
        if (done := ssh_client.run(LITTER)).returncode != 0:
            raise RuntimeError(f"the tenant could leave nothing: {done.stderr}")
        begun = time.perf_counter()
        admin.allocations.release(project_id, made.id)
        ended = self._settled(made, "released")
        taken = time.perf_counter() - begun
        if ended.wipe_grade != "rebooted":
            raise RuntimeError(f"the wipe is proven as {ended.wipe_grade}")
        return taken

    def _settled(self, made: Allocation, state: str) -> Allocation:
        ended = list(self.sandbox.admin.allocations.follow(self.sandbox.project_id, [made.id], SETTLE))[-1]
        if ended.state != state:
            raise RuntimeError(f"the allocation is {ended.state}, not {state}: {ended.failure}")
        return ended


@contextmanager
def _site() -> Iterator[tuple[OnPlatform, ByHand]]:
    """One host for the platform's agent, one for the person."""
    with (
        tempfile.TemporaryDirectory() as directory,
        lab_site("bench-release", 1, wipe_grade="rebooted") as (sandbox, _),
        Fleet(name=f"bench-by-hand-{os.getpid()}", hosts=1) as other,
    ):
        yield OnPlatform(sandbox, Path(directory)), ByHand(other.hosts[0])


def run(size: Size) -> list[Figure]:
    missing = Fleet.requirements()
    if missing:
        return [Figure(NAME, float("nan"), "×", note=f"not measured: {'; '.join(missing)}")]
    series = Series()
    with _site() as (platform, by_hand):
        for number in range(size.rounds + 1):
            for name, side in (("by hand", by_hand), ("platform", platform)):
                seconds = side.seconds()
                if number:
                    series.add(name, seconds)
    note = f"{series.median('platform'):.2f} s against {series.median('by hand'):.2f} s"
    return [Figure(NAME, series.ratio("platform", "by hand"), "×", 1.5, at_least=False, note=note)]
