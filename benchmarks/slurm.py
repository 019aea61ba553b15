"""A Slurm cluster deployed, widened and taken away by the app, against the same steps run by hand over plain SSH."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import nan
from pathlib import Path

from benchmarks import REPOSITORY
from benchmarks.figures import Figure, Series, Size
from benchmarks.slurm_files import write_files
from gpuaas_lab import Fleet, Host
from gpuaas_sdk import Operation
from system_support.slurm_lab import SlurmLab, slurm_lab, traces

HOW = """\
Booted lab hosts that have Slurm's packages and are allocated; app and person take turns on the same hosts, as the same
login with sudo, with the same files (written by the app's own renderers), and neither has accounting. The app: its controller
in a process of its own, api, worker and PostgreSQL on the same machine; from just before the POST until the operation is
seen to have succeeded, so it holds leases, certificates, every step's report, and of a decommission the agents' receipts. By
hand: benchmarks/slurm_by_hand.sh, all hosts of a step in parallel, ready files, ended by a look that nothing is left. A
cluster begins as a single node; one worker is added alone, then 16 in one bulk, and all 18 hosts are decommissioned. After
each decommission every host's disk is read from outside: nothing may be left. Median of the rounds' ratios. For scale, by
hand: on workers that have everything the two daemons are started again, by one login each, and a job runs on all of them.
All hosts share the cores of one machine here, so that sixteen at work slow each other down, which hosts of a fleet do not.
Hence the same once more on hosts of a fixed size: each is held to a share of a core, all of them to half of the machine."""
SCRIPT = Path(__file__).parent / "slurm_by_hand.sh"
LONGEST = 300.0


@dataclass(slots=True)
class ByHand:
    """A person with a login on every host, and the cluster's files in a folder."""

    hosts: list[Host]
    folder: Path

    def __post_init__(self) -> None:
        key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=20)
        for host in self.hosts:
            host.write_file("/home/gpu/.ssh/authorized_keys", (self.folder / "key.pub").read_text())
            host.run(["chown", "-R", "gpu:gpu", "/home/gpu/.ssh"])
        write_files(self.folder / "files", self.hosts[0])

    def deploy(self) -> float:
        return self._timed("deploy")

    def add(self, numbers: list[int]) -> float:
        return self._timed("add", *self._nodes(numbers))

    def decommission(self, numbers: list[int]) -> float:
        return self._timed("decommission", *self._nodes(numbers))

    def wake(self, numbers: list[int]) -> float:
        """What is left of adding them when nothing has to be brought: their daemons, and a job over all of them."""
        self._timed("rest", *self._nodes(numbers))
        return self._timed("wake", *self._nodes(numbers))

    def _nodes(self, numbers: list[int]) -> list[str]:
        return [f"w{number}={self.hosts[number].address}" for number in numbers]

    def _timed(self, verb: str, *nodes: str) -> float:
        known = f"-o UserKnownHostsFile={self.folder}/known -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR"
        login = f"ssh -F none -i {self.folder}/key -o IdentitiesOnly=yes -o BatchMode=yes {known} -l gpu"
        environment = {**os.environ, "SSH": login, "FILES": str(self.folder / "files")}
        begun = time.perf_counter()
        command = ["timeout", str(LONGEST), "bash", str(SCRIPT), verb, self.hosts[0].address, *nodes]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        taken = time.perf_counter() - begun
        if done.returncode != 0:
            raise RuntimeError(f"{verb} by hand: {done.stderr.strip()[-400:]}")
        return taken


@dataclass(slots=True)
class ByApp:
    lab: SlurmLab
    instance: str = ""

    def deploy(self) -> float:
        begun = time.perf_counter()
        name = f"bench-{time.monotonic_ns()}"
        self.instance, operation = self.lab.launch(name, [0], packages="host")
        return self._ended(operation) - begun

    def add(self, numbers: list[int]) -> float:
        begun = time.perf_counter()
        return self._ended(self.lab.add(self.instance, *numbers)) - begun

    def decommission(self, numbers: list[int]) -> float:
        begun = time.perf_counter()
        return self._ended(self.lab.operate(self.instance, "decommission")) - begun

    def _ended(self, operation: Operation) -> float:
        seen = list(self.lab.sandbox.admin.operations.follow(self.lab.project_id, operation.id, LONGEST))
        taken = time.perf_counter()
        if seen[-1].status != "succeeded":
            raise RuntimeError(f"{operation.kind} by the app: {seen[-1].status} {seen[-1].failure}")
        return taken


@contextmanager
def controller(lab: SlurmLab, folder: Path) -> Iterator[None]:
    """The app's own program, as its unit runs it."""
    settings = lab.controller()
    secret = folder / "secret"
    secret.touch(0o600)
    secret.write_text(settings.client_secret)
    told = {
        "GPUAAS_URL": settings.url,
        "GPUAAS_PROJECT": settings.project_id,
        "GPUAAS_CLIENT_ID": settings.client_id,
        "GPUAAS_CLIENT_SECRET_FILE": str(secret),
        "GPUAAS_CONCURRENCY": "32",  # as its unit and its image have it
    }
    command = [sys.executable, "-m", "gpuaas_slurm.controller"]
    with (folder / "controller.log").open("ab") as log:
        process = subprocess.Popen(command, env={**os.environ, **told}, cwd=REPOSITORY, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def measured(size: Size, workers: int) -> Series:
    """`workers` in one bulk, beside the head and the one that is added alone."""
    series = Series()
    everybody = list(range(1, workers + 2))
    with tempfile.TemporaryDirectory() as name, slurm_lab("bench-slurm", workers + 2) as lab:
        folder = Path(name)
        with controller(lab, folder):
            sides: dict[str, ByHand | ByApp] = {"by hand": ByHand(lab.hosts, folder), "app": ByApp(lab)}
            for number in range(size.rounds + (0 if size.quick else 1)):
                for who, side in sides.items():
                    taken = _one_node(side, lab)
                    if number or size.quick:  # the first of each warms caches
                        _note(series, who, taken)
            for _ in range(max(1, size.rounds // 2)):
                for who, side in sides.items():
                    _note(series, who, _many_nodes(side, lab, everybody))
            for host in lab.hosts:
                host.limit_cpu(_share(len(lab.hosts)))
            for who, side in sides.items():
                _note(series, f"{who}, held", _many_nodes(side, lab, everybody))
    return series


def _share(hosts: int) -> float:
    """Of a core: all together leave half of the machine to the platform."""
    return (os.cpu_count() or 2) / 2 / hosts


def _one_node(side: ByHand | ByApp, lab: SlurmLab) -> dict[str, float]:
    taken = {"deploy": side.deploy(), "decommission": side.decommission([])}
    _look(lab)
    return taken


def _many_nodes(side: ByHand | ByApp, lab: SlurmLab, numbers: list[int]) -> dict[str, float]:
    side.deploy()
    taken = {"add one": side.add(numbers[:1]), "add many": side.add(numbers[1:])}
    names = lab.as_user("srun", "-Q", "--input=none", f"-N{len(lab.hosts)}", "hostname", seconds=60.0).split()
    if sorted(names) != sorted(host.name for host in lab.hosts):
        raise RuntimeError(f"a job over all nodes ran on {names}")
    if isinstance(side, ByHand):
        taken |= {"wake one": side.wake(numbers[:1]), "wake many": side.wake(numbers[1:])}
    taken["decommission all"] = side.decommission(numbers)
    _look(lab)
    return taken


def _look(lab: SlurmLab) -> None:
    """Whoever cleaned up less would be the faster one."""
    left = {host.name: found for host in lab.hosts if (found := traces(host))}
    if left:
        raise RuntimeError(f"left behind: {left}")


def _note(series: Series, who: str, taken: dict[str, float]) -> None:
    for step, seconds in taken.items():
        series.add(f"{who}/{step}", seconds)


def run(size: Size) -> list[Figure]:
    if missing := Fleet.requirements():
        return [Figure("Slurm by the app", nan, "×", note=f"not measured: {'; '.join(missing)}")]
    workers = 2 if size.quick else 16
    return figures(measured(size, workers), workers)


def figures(series: Series, workers: int) -> list[Figure]:
    hosts = workers + 2
    return [
        _against(series, "deploy", "Slurm deployed on a single node, against by hand", 1.3),
        _against(series, "add one", "one worker added, against by hand", None),
        _against(series, "add many", f"{workers} workers added in one bulk, against by hand", 1.3),
        _scaling(series, "app", f"{workers} workers added in one bulk, against one worker", _bounds(series)),
        _scaling(
            series,
            "app, held",
            f"{workers} workers in one bulk, against one, on hosts of a fixed size",
            f"{_share(hosts):.3f} of a core each; {_scaled(series, 'app, held')}, by hand {_scaled(series, 'by hand, held')}",
        ),
        _against(series, "decommission", "Slurm decommissioned on a single node, against by hand", 1.5),
        _against(series, "decommission all", f"Slurm decommissioned on {hosts} hosts, against by hand", 1.5),
    ]


def _scaling(series: Series, who: str, name: str, note: str) -> Figure:
    return Figure(name, series.ratio(f"{who}/add many", f"{who}/add one"), "×", 3.0, at_least=False, note=note)


def _scaled(series: Series, who: str) -> str:
    return f"{series.median(f'{who}/add many'):.2f} s against {series.median(f'{who}/add one'):.2f} s"


def _bounds(series: Series) -> str:
    """All the hosts are on one machine here: what many do at once is limited by its cores, for a script as well."""
    script = series.ratio("by hand/add many", "by hand/add one")
    seconds = [series.median(f"by hand/wake {which}") for which in ("many", "one")]
    daemons = f"their daemons alone {seconds[0] / seconds[1]:.1f}× ({seconds[0]:.2f} s against {seconds[1]:.2f} s)"
    return f"{_scaled(series, 'app')}; on the same {os.cpu_count()} cores: by hand {script:.1f}×, {daemons}"


def _against(series: Series, step: str, name: str, limit: float | None) -> Figure:
    app, hand = f"app/{step}", f"by hand/{step}"
    note = f"{series.median(app):.2f} s against {series.median(hand):.2f} s"
    return Figure(name, series.ratio(app, hand), "×", limit, at_least=False, note=note)
