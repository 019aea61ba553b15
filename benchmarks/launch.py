"""A launchable image from the request until it answers, through the platform, against the same podman commands by hand."""

import json
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
from gpuaas_containers.gpu_devices import GpuDevices
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import read_profile
from gpuaas_containers.user_data import HEADER, render_user_data
from gpuaas_lab import Fleet
from system_support.container_lab import NOTHING, PORT, ContainerLab, container_lab, engine_lists, manifest, web_image

HOW = """\
One booted and allocated lab host with podman; platform and person take turns on it, as the same login with sudo, with the
same image from the platform's own registry, the same unit and the same `podman run` (written by the app's own renderers). The
image is not on the host when a round begins. The platform: its controller in a process of its own, api, worker, registry and
PostgreSQL on the same machine; from just before the POST until the operation is seen to have succeeded, so it holds the
lease, the certificate, the scoped secret, the checks of ports, room and signature policy, every step's report, and the
readiness probe by the agent. By hand: benchmarks/launch_by_hand.sh, from its start until the container answers. After each
round the host must have no container, image, volume or network. Median of the rounds' ratios."""
SCRIPT = Path(__file__).parent / "launch_by_hand.sh"
VERSION, LONGEST = "1.0.0", 300.0
NAMES = MemberNames("gpuaas-by-hand")


@dataclass(slots=True)
class ByHand:
    """A person with a login on the host, an account at the registry, and the container's files in a folder."""

    lab: ContainerLab
    folder: Path
    reference: str
    account: str  # at the registry: user and password

    def __post_init__(self) -> None:
        key, [host] = self.folder / "key", self.lab.hosts
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=20)
        host.write_file("/home/gpu/.ssh/authorized_keys", (self.folder / "key.pub").read_text())
        host.run(["chown", "-R", "gpu:gpu", "/home/gpu/.ssh"])
        profile = read_profile(manifest("web", VERSION, self.reference.partition("@")[2], {}), {})
        container = MemberContainer(NAMES, profile, self.reference, GpuDevices(), "by-hand", "by-hand", "by hand")
        listed = json.loads(render_user_data(container).text.removeprefix(HEADER))["write_files"]
        self._write("/var/lib/by-hand/ca.crt", self.lab.ca_file().read_text())
        for one in listed:
            self._write(one["path"], one["content"])

    def _write(self, path: str, text: str) -> None:
        place = self.folder / "files" / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def launch(self) -> float:
        return self._timed("launch")

    def remove(self) -> None:
        self._timed("remove")

    def _timed(self, verb: str) -> float:
        known = f"-o UserKnownHostsFile={self.folder}/known -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR"
        login = f"ssh -F none -i {self.folder}/key -o IdentitiesOnly=yes -o BatchMode=yes {known} -l gpu"
        told = {
            "SSH": login,
            "FILES": str(self.folder / "files"),
            "NAME": NAMES.name,
            "REFERENCE": self.reference,
            "REGISTRY": self.reference.partition("/")[0],
            "PORT": str(PORT),
            "KEPT": f"{NAMES.image}:kept",
            "AUTH": self.account,
        }
        command = ["timeout", str(LONGEST), "bash", str(SCRIPT), verb, self.lab.hosts[0].address]
        begun = time.perf_counter()
        done = subprocess.run(
            command, env={**os.environ, **told}, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        taken = time.perf_counter() - begun
        if done.returncode != 0:
            raise RuntimeError(f"{verb} by hand: {done.stderr.strip()[-400:]}")
        return taken


@dataclass(slots=True)
class ByPlatform:
    lab: ContainerLab
    instance: str = ""

    def launch(self) -> float:
        begun = time.perf_counter()
        self.instance, operation = self.lab.launch(f"bench-{time.monotonic_ns()}", VERSION)
        seen = list(self.lab.sandbox.admin.operations.follow(self.lab.project_id, operation.id, LONGEST))
        taken = time.perf_counter() - begun
        if seen[-1].status != "succeeded":
            raise RuntimeError(f"launch by the platform: {seen[-1].status} {seen[-1].failure}")
        return taken

    def remove(self) -> None:
        self.lab.torn_down(self.instance)


@contextmanager
def controller(lab: ContainerLab, folder: Path) -> Iterator[None]:
    """The app's own program, as its unit runs it."""
    settings, secret = lab.controller(), folder / "secret"
    secret.touch(0o600)
    secret.write_text(settings.client_secret)
    told = {
        "GPUAAS_URL": settings.url,
        "GPUAAS_PROJECT": settings.project_id,
        "GPUAAS_CLIENT_ID": settings.client_id,
        "GPUAAS_CLIENT_SECRET_FILE": str(secret),
    }
    command = [sys.executable, "-m", "gpuaas_containers"]
    with (folder / "controller.log").open("ab") as log:
        process = subprocess.Popen(command, env={**os.environ, **told}, cwd=REPOSITORY, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def measured(size: Size) -> Series:
    series, image = Series(), web_image("hello")
    with tempfile.TemporaryDirectory() as name, container_lab("bench-launch") as lab:
        folder = Path(name)
        lab.release(VERSION, image)
        with controller(lab, folder):
            by_hand = ByHand(lab, folder, _reference(lab, image.digest), _registry_account(lab))
            sides: dict[str, ByHand | ByPlatform] = {"by hand": by_hand, "platform": ByPlatform(lab)}
            for number in range(size.rounds + (0 if size.quick else 1)):
                for who, side in sides.items():
                    taken = side.launch()
                    side.remove()
                    _look(lab)
                    if number or size.quick:  # the first of each warms caches
                        series.add(who, taken)
    return series


def _reference(lab: ContainerLab, digest: str) -> str:
    found = lab.sandbox.admin.artifacts.find(lab.project_id, digest)
    if found is None or found.reference is None:
        raise RuntimeError(f"{digest} is not published")
    return found.reference


def _registry_account(lab: ContainerLab) -> str:
    made = lab.sandbox.admin.service_accounts.create(lab.project_id, "by-hand", scopes=["artifacts:read"])
    if made.key is None or made.key.secret is None:
        raise RuntimeError("the account came without its key")
    return f"{made.id}:{made.key.secret}"


def _look(lab: ContainerLab) -> None:
    """Whoever left the image there would be the faster one."""
    found = engine_lists(lab.hosts[0])
    if found != NOTHING:
        raise RuntimeError(f"left behind: {found}")


def run(size: Size) -> list[Figure]:
    name = "a launchable image from the request until it is ready, against by hand"
    if missing := Fleet.requirements():
        return [Figure(name, nan, "×", note=f"not measured: {'; '.join(missing)}")]
    series = measured(size)
    note = f"{series.median('platform'):.2f} s against {series.median('by hand'):.2f} s"
    return [Figure(name, series.ratio("platform", "by hand"), "×", 1.3, at_least=False, note=note)]
