"""Slurm from the published artifact, on hosts that have none of its packages, by a controller that dies at every step."""

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_sdk import NewInstance, Operation, Placement
from gpuaas_sdk.testing import as_replica, crashing_replica
from gpuaas_slurm.controller import Slurm
from system_support.echo_lab import at_work
from system_support.slurm_lab import MANIFEST, USER, SlurmLab, packages, slurm_lab, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
APP = "gpuaas_slurm.controller:Slurm"
OLD, NEW = "0.1.0", "0.2.0"


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab("slurm-bare", 2, layer=None) as made:
        made.publish(MANIFEST.replace(f"version: {OLD}", f"version: {NEW}"), with_a_note(packages()))
        yield made


def launch_old(lab: SlurmLab, name: str) -> tuple[str, Operation]:
    """Of the older of two versions, on the first host."""
    intent = [Placement(component_key=key, allocation_id=lab.places[0]) for key in ("controller", "worker")]
    new = NewInstance(app="slurm", name=name, placement_intent=intent, version=OLD, when_no_controller="queue")
    started = lab.sandbox.admin.instances.create(lab.project_id, new)
    return started.instance.id, lab.succeeds(started.operation)


def bare(lab: SlurmLab) -> list[list[str]]:
    """Of the package manager's own records nothing is asked: it writes down that something was there once."""
    records = ("var/lib/dpkg/", "var/log/", "var/cache/", "var/lib/apt/", "var/lib/systemd/deb-systemd")
    found = [traces(host, layer=None) for host in lab.hosts]
    return [[name for name in names if not name.startswith(records)] for names in found]


def brought(lab: SlurmLab) -> str:
    """The digest of the artifact that the host's packages came from."""
    told = json.loads(lab.hosts[0].read_file("/var/lib/gpuaas-slurm/packages/brought.json"))
    return str(told["digest"])


def with_a_note(artifact: bytes) -> bytes:
    """The same packages in another artifact."""
    content = io.BytesIO(artifact)
    with tarfile.open(fileobj=content, mode="a") as archive:
        entry = tarfile.TarInfo("NOTE")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    return content.getvalue()


def test_packages_come_from_the_artifact_change_with_the_version_and_go_with_the_cluster(lab: SlurmLab) -> None:
    with at_work(Slurm(), lab.controller()):
        instance, _ = launch_old(lab, "published")
        assert lab.as_user("srun", "-Q", "--input=none", "hostname") == lab.hosts[0].name
        job = lab.submitted()
        lab.comes(lambda: lab.job(job) == "RUNNING", "the job")
        first = brought(lab)
        for version, verb in ((NEW, "upgrade"), (OLD, "rollback")):
            asked = lab.sandbox.admin.instances
            lab.succeeds(
                asked.upgrade(lab.project_id, instance, version).operation
                if verb == "upgrade"
                else lab.operate(instance, verb)
            )
            assert (brought(lab) == first) is (verb == "rollback")
            assert (lab.instance(instance).runtime or {})["app_version"] == version
        assert lab.job(job) == "RUNNING"  # through both
        lab.torn_down(instance)
    assert lab.hosts[0].run(["which", "slurmd", "munged"], check=False).returncode != 0
    assert lab.hosts[0].run(["dpkg", "--audit"]).stdout == ""
    assert bare(lab) == [[], []]


def test_a_controller_that_dies_at_every_step_that_brings_or_takes_packages_goes_on_where_it_was(
    lab: SlurmLab, tmp_path: Path
) -> None:
    """Every verb dies in test_slurm_killed_everywhere_on_lab.py; here those for which bytes come to bare hosts, or go."""
    settings = as_replica(lab.controller(), "crashing")
    with crashing_replica(APP, settings, tmp_path, at=("step_done",)) as replica:
        instance, deployed = launch_old(lab, "killed")
        done = [deployed, lab.succeeds(lab.add(instance, 1))]
        assert len(set(lab.as_user("srun", "-Q", "--input=none", "-N2", "hostname").split())) == 2
        upgrade = lab.sandbox.admin.instances.upgrade(lab.project_id, instance, NEW)
        done += [lab.succeeds(upgrade.operation), lab.succeeds(lab.change(instance, "remove", 1))]
        assert lab.as_user("srun", "-Q", "--input=none", "hostname") == lab.hosts[0].name
        done += [lab.torn_down(instance), *lab.rotations(instance)]
        died = {(crash.kind, crash.step) for crash in replica.crashes}
    assert died == {(operation.kind, step.name) for operation in done for step in operation.steps}
    assert bare(lab) == [[], []]


def test_a_deploy_that_cannot_work_says_why_and_works_when_that_is_settled(lab: SlurmLab) -> None:
    host = lab.hosts[0]
    host.run(["useradd", "--no-create-home", "--uid", "4242", USER])
    with at_work(Slurm(), lab.controller()):
        instance, deploy = lab.launch("blocked", [0])
        failed = lab.fails(deploy, "apply_failed")
        assert failed.failure is not None
        assert "another uid, 4242" in failed.failure.message
        host.run(["userdel", USER])
        lab.succeeds(lab.operate(instance, "deploy"))
        lab.torn_down(instance)
    assert bare(lab) == [[], []]


def test_packages_stay_where_the_request_says_so_and_the_next_cluster_finds_them(lab: SlurmLab) -> None:
    with at_work(Slurm(), lab.controller()):
        instance = lab.launched("kept", [0])
        lab.torn_down(instance, packages="keep")
        assert lab.hosts[0].run(["which", "slurmd", "munged"], check=False).returncode == 0
        again = lab.launched("again", [0], packages="host")
        lab.torn_down(again)
        assert lab.hosts[0].run(["which", "slurmd"], check=False).returncode == 0  # the host's own by now
