"""Slurm on real hosts: whole machines that have its packages already, or none of them, and what its users ask of a cluster."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from gpuaas_lab import Host, PackageLayer, rootfs
from gpuaas_lab.demo import app
from gpuaas_sdk import InstanceMember, NewMemberOperation, Operation, ReplaceTarget
from gpuaas_slurm.controller import Slurm
from gpuaas_slurm.layout import MUNGE_KEY
from gpuaas_slurm.packages import ACCOUNTING, CONTROLLER
from system_support.lab_site import LabApp, lab_site

LAYER = PackageLayer("slurm", (*CONTROLLER, *ACCOUNTING))
MANIFEST = files("gpuaas_slurm").joinpath("manifest.yaml").read_text()
USER = "researcher"
# What a host writes by itself, whoever is on it: its journal, its agent's notes, who logged in and when.
OF_THE_HOST = ("var/log/", "var/lib/gpuaas/", "var/lib/systemd/", "var/cache/", "tmp/", "run/", "root/")
ACCOUNTS = ("etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "etc/hosts", "etc/subuid", "etc/subgid")


class SlurmLab(LabApp):
    """The cluster's controller is on the first place."""

    def launch(self, name: str, workers: list[int], controller: int = 0, **inputs: object) -> tuple[str, Operation]:
        """On the hosts of these numbers."""
        where = [("controller", self.places[controller]), *(("worker", self.places[number]) for number in workers)]
        return self.deploy(name, where, **inputs)

    def launched(self, name: str, workers: list[int], **inputs: object) -> str:
        instance, operation = self.launch(name, workers, 0, **inputs)
        self.succeeds(operation)
        return instance

    def succeeds(self, operation: Operation, seconds: float = 180.0) -> Operation:
        """With the rotation of the key that follows when a worker has left: it must come, and succeed."""
        done = super().succeeds(operation, seconds)
        if done.kind in ("remove", "replace"):
            rotated = self.rotation_after(done, seconds)
            assert rotated.status == "succeeded", (rotated.failure, rotated.steps)
        return done

    def rotations(self, instance: str) -> list[Operation]:
        """Of its key, whatever has come of them: the latest is the first."""
        found = self.sandbox.admin.operations.list(self.project_id, instance_id=instance)
        return [one for one in found if one.parameters.get("rotate_secrets")]

    def rests(self, instance: str) -> None:
        """Nothing works on it any more: also not what the platform asks for when somebody has left."""
        self.comes(lambda: self.instance(instance).operation_id is None, "the end of what works on the cluster", 180.0)

    def key(self, number: int = 0) -> bytes:
        """The munge key on the disk of a host, read from outside."""
        return (self.hosts[number].upper / MUNGE_KEY.lstrip("/")).read_bytes()

    def add(self, instance: str, *numbers: int) -> Operation:
        places = [self.places[number] for number in numbers]
        return self.change_members(
            instance, NewMemberOperation(kind="add", component_key="worker", allocation_ids=places)
        )

    def change(self, instance: str, kind: str, *numbers: int, **options: object) -> Operation:
        """Of the workers on these hosts."""
        targets = [self.worker(instance, number).id for number in numbers]
        change = NewMemberOperation(kind=kind, targets=targets, options=options or None)
        return self.change_members(instance, change)

    def replace(self, instance: str, number: int, other: int) -> Operation:
        move = ReplaceTarget(member_id=self.worker(instance, number).id, allocation_id=self.places[other])
        return self.change_members(instance, NewMemberOperation(kind="replace", replacements=[move]))

    def workers(self, instance: str) -> list[InstanceMember]:
        found = self.sandbox.admin.instances.members(self.project_id, instance)
        return [one for one in found if one.component_key == "worker"]

    def worker(self, instance: str, number: int) -> InstanceMember:
        return next(one for one in self.workers(instance) if one.allocation_id == self.places[number])

    def node(self, instance: str, number: int) -> str:
        return f"w{self.worker(instance, number).ordinal}"

    def as_user(self, *argv: str, user: str = USER, host: int = 0, seconds: float = 60.0) -> str:
        """What a login user gets to see."""
        ran = self.hosts[host].run(["runuser", "-u", user, "--", *argv], check=False, timeout=seconds)
        return (ran.stdout + ran.stderr).strip()

    def submitted(self, *options: str, script: str = "sleep 600") -> str:
        """The number of a batch job."""
        return self.as_user("sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", script)

    def job(self, number: str) -> str:
        shown = self.hosts[0].run(["scontrol", "-o", "show", "job", number], check=False).stdout
        return next((word.partition("=")[2] for word in shown.split() if word.startswith("JobState=")), "GONE")

    def nodes(self) -> dict[str, str]:
        """States by name, flags after a plus, as `sinfo` has them in its JSON."""
        shown = json.loads(self.hosts[0].run(["sinfo", "--json"]).stdout)
        plain = {"DYNAMIC_NORM"}
        return {one["name"]: "+".join([one["state"], *sorted({*one["state_flags"]} - plain)]) for one in shown["nodes"]}

    def comes(self, true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"{what} did not come: {self.nodes()}"
            time.sleep(0.2)


def packages() -> bytes:
    """The artifact, as the demo publishes it."""
    return app.ensure_packages(print).read_bytes()


def traces(host: Host, layer: PackageLayer | None = LAYER) -> list[str]:
    """What of the cluster is left on a host's disk, read from outside: neither the host nor its agent is asked."""
    below = [rootfs.path(), *([layer.path] if layer else [])]
    found = [name for name in _touched(host) if _changed(host.upper, below, name)]
    for name in ("etc/passwd", "etc/group", "etc/shadow", "etc/hosts"):
        kept = host.upper / name
        text = kept.read_text() if kept.exists() else ""
        found += [f"{name}: {word}" for word in (USER, "gpuaas-slurm") if word in text]
    return found


def _touched(host: Host) -> list[str]:
    words = ("slurm", "munge", "mariadb", "mysql", "pmix", USER)
    ignored = ("var/lib/gpuaas/agent/", "var/log/journal/", "var/cache/gpuaas-agent/")
    names = (str(path.relative_to(host.upper)) for path in host.upper.rglob("*"))
    return [name for name in names if any(word in name for word in words) and not name.startswith(ignored)]


def _changed(upper: Path, below: list[Path], name: str) -> bool:
    """Whether it is other than below: new, with other content, or (a device without a number) taken away."""
    here, there = upper / name, [layer / name for layer in below if (layer / name).exists()]
    if here.is_char_device() or not there:
        return bool(there) or not here.is_char_device()
    return here.is_file() and here.read_bytes() != there[-1].read_bytes()


def disk(host: Host) -> dict[str, str]:
    """What the host has changed on its disk, read from outside: the names, and of lists of accounts and hosts the text."""
    below = (rootfs.path(), LAYER.path)  # a folder of theirs is no change: something in it was touched
    paths = ((path, path.relative_to(host.upper)) for path in host.upper.rglob("*"))
    found = [name for path, name in paths if not (path.is_dir() and any((one / name).is_dir() for one in below))]
    names = {str(path): "" for path in found if not str(path).startswith(OF_THE_HOST)}
    return names | {name: (host.upper / name).read_text() for name in ACCOUNTS if (host.upper / name).exists()}


def other_than(before: dict[str, str], host: Host) -> list[str]:
    now = disk(host)
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


@contextmanager
def slurm_lab(name: str, hosts: int, layer: PackageLayer | None = LAYER) -> Iterator[SlurmLab]:
    with lab_site(name, hosts, layer) as (sandbox, fleet):
        made = SlurmLab(sandbox, Slurm.slug)
        made.publish(MANIFEST, packages())
        made.settle_on(fleet)
        yield made
