"""The secrets that the hosts of a Slurm cluster share: who knew them before a rotation opens nothing with them after it."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_lab import Host
from gpuaas_sdk.testing import as_replica, crashing_replica
from gpuaas_slurm import layout
from gpuaas_slurm.controller import Slurm
from system_support.echo_lab import at_work
from system_support.slurm_lab import SlurmLab, slurm_lab, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
APP = "gpuaas_slurm.controller:Slurm"


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab("slurm-keys", 3) as made:
        yield made


def keys(lab: SlurmLab) -> list[bytes]:
    """Of the two hosts of a cluster."""
    return [lab.key(number) for number in (0, 1)]


def believed(host: Host, key: bytes) -> bool:
    """Whether what somebody with this key says is believed on a host of the cluster."""
    place = "/run/old-key"
    host.run(["install", "-d", "-o", "munge", "-g", "munge", "-m", "700", place])
    (host.upper / "tmp").mkdir(exist_ok=True)
    host.run(["python3", "-c", f"open('{place}/key', 'wb').write(bytes.fromhex('{key.hex()}'))"])
    host.run(["chown", "munge:munge", f"{place}/key"])
    host.run(["chmod", "400", f"{place}/key"])
    munged = f"munged --force --key-file={place}/key --socket={place}/socket --pid-file={place}/pid"
    munged += f" --seed-file={place}/seed --log-file={place}/log"
    host.run(["runuser", "-u", "munge", "--", "sh", "-c", munged])
    try:
        said = f"munge -S {place}/socket -n | unmunge -S {layout.MUNGE_SOCKET}"
        return host.run(["sh", "-c", said], check=False).returncode == 0
    finally:
        # While it ends it writes its seed, which would be new in the folder that is being removed.
        ended = "kill $munged; timeout 30 tail --pid=$munged --follow /dev/null"
        host.run(["sh", "-c", f"munged=$(cat {place}/pid); {ended}; rm -rf {place}"])


def test_a_rotation_leaves_one_new_key_running_jobs_and_a_cluster_that_works(lab: SlurmLab) -> None:
    slurm = Slurm()
    slurm.health_seconds = 1.0
    with at_work(slurm, lab.controller()):
        instance = lab.launched("keys", [0, 1], packages="host")
        before = keys(lab)
        assert before[0] == before[1]
        assert believed(lab.hosts[1], before[0]), "the way of asking is right: the key of today is believed"
        job = lab.submitted("-w", lab.node(instance, 1), script="sleep 20; exit 0")
        lab.comes(lambda: lab.job(job) == "RUNNING", "the job")
        lab.verb(instance, "reconcile", secrets="rotate")
        after = keys(lab)
        assert after[0] == after[1]
        assert after[0] != before[0]
        assert [believed(host, before[0]) for host in lab.hosts[:2]] == [False, False], "the old key opens nothing"
        lab.comes(lambda: lab.job(job) == "COMPLETED", "the end of the job that ran all the while")
        said = lab.as_user("srun", "-Q", "--input=none", "-N2", "hostname").split()
        assert sorted(said) == sorted(host.name for host in lab.hosts[:2])
        lab.comes(lambda: lab.instance(instance).health == "healthy", "a look that finds it well")
        unproven(lab, instance)
        lab.torn_down(instance)


def unproven(lab: SlurmLab, instance: str) -> None:
    """Who does not know the status key hears nothing, and cannot use what somebody else has said."""
    place = (lab.instance(instance).runtime or {})["controller"]
    assert isinstance(place, dict)
    for words in (b"\n", b"since 0\n", b"0" * 64 + b" since 0\n", b"x" * 5000 + b"\n"):
        with socket.create_connection((lab.hosts[0].address, layout.STATUS_PORT), timeout=30) as there:
            with there.makefile("rb") as lines:
                assert set(json.loads(lines.readline())) == {"nonce"}
                there.sendall(words)
                answer = lines.readline()
        assert answer == b"" or set(json.loads(answer)) == {"refused"}, answer


def test_a_controller_that_dies_at_every_step_of_a_rotation_ends_with_one_key(lab: SlurmLab, tmp_path: Path) -> None:
    settings = as_replica(lab.controller(), "crashing")
    with crashing_replica(APP, settings, tmp_path, at=("step_done",)) as replica:
        instance = lab.launched("dies", [0, 1], packages="host")
        before, lived = keys(lab), len(replica.crashes)
        rotated = lab.verb(instance, "reconcile", secrets="rotate")
        died = [crash.step for crash in replica.crashes[lived:]]
        after = keys(lab)
        assert set(died) == {step.name for step in rotated.steps}
        assert (after[0] == after[1], after[0] != before[0]) == (True, True)
        assert len(set(lab.as_user("srun", "-Q", "--input=none", "-N2", "hostname").split())) == 2
        lab.torn_down(instance)


def test_a_worker_that_left_is_followed_by_another_key_which_one_that_was_off_gets_when_it_is_recovered(
    lab: SlurmLab,
) -> None:
    """With accounting, whose daemon is among those that believe a key."""
    with at_work(Slurm(), lab.controller()):
        instance = lab.launched("leaves", [0, 1, 2], packages="host", accounting=True)
        job = lab.submitted("-w", lab.node(instance, 0), script="sleep 20; exit 0")
        lab.comes(lambda: lab.job(job) == "RUNNING", "the job")
        known = lab.key()
        lab.hosts[2].power_cut()
        lab.succeeds(lab.change(instance, "remove", 1))
        assert (lab.key() == known, lab.key(2) == known) == (False, True)
        silent = lab.worker(instance, 2)
        assert (silent.status, "recover" in silent.allowed_actions) == ("degraded", True)
        assert silent.failure is not None
        assert not believed(lab.hosts[0], known)
        lab.hosts[2].power_on()
        lab.hosts[2].wait_ssh()
        lab.succeeds(lab.change(instance, "recover", 2))
        assert (lab.key(2) == lab.key(), lab.worker(instance, 2).status) == (True, "ready")
        assert len(set(lab.as_user("srun", "-Q", "--input=none", "-N2", "hostname").split())) == 2
        lab.comes(lambda: lab.job(job) == "COMPLETED", "the end of the job that ran all the while")
        lab.torn_down(instance)
    assert traces(lab.hosts[1]) == []
