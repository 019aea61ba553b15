"""Slurm on real hosts, through the public API alone: a cluster's life from its launch to the proof that it is gone."""

import re
import time
from collections.abc import Iterator

import pytest

from gpuaas_lab import Host
from gpuaas_sdk import Conflict, NewMemberOperation, ReplaceTarget
from gpuaas_slurm.controller import Slurm
from gpuaas_slurm.layout import COMPLETED_JOBS
from system_support.echo_lab import at_work
from system_support.slurm_lab import SlurmLab, disk, other_than, slurm_lab, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab("slurm", 3) as made:
        yield made


@pytest.fixture(scope="module")
def at_work_here(lab: SlurmLab) -> Iterator[None]:
    """One controller for the whole story, as a project has it."""
    slurm = Slurm()
    slurm.health_seconds = 1.0
    with at_work(slurm, lab.controller()):
        yield


@pytest.fixture(scope="module")
def cluster(lab: SlurmLab, at_work_here: None) -> str:
    """A cluster of one node, on the first host."""
    return lab.launched("story", [0], packages="host")


def test_a_cluster_of_one_node_is_ready_for_its_users_when_it_says_so(lab: SlurmLab, cluster: str) -> None:
    seen = lab.as_user("srun", "-Q", "--input=none", "--gres=gpu:2", "env")
    assert "CUDA_VISIBLE_DEVICES=0,1" in seen
    assert re.fullmatch(r"\d+", lab.submitted(script="true"))
    runtime = lab.instance(cluster).runtime or {}
    assert (runtime["app_version"], runtime["slurm_version"]) == ("0.1.0", "22.05.8")
    assert str(runtime["package_version"]).startswith("22.05.8-")


def refused(lab: SlurmLab, instance: str, kind: str, *, component: str = "worker") -> str:
    """Why it cannot be asked for, of the member on the first host; it is not offered either."""
    found = lab.sandbox.admin.instances.members(lab.project_id, instance)
    place, other = lab.places[0], lab.places[1]
    target = next(one for one in found if (one.component_key, one.allocation_id) == (component, place))
    assert kind not in target.allowed_actions
    move = [ReplaceTarget(member_id=target.id, allocation_id=other)]
    how = {"replacements": move} if kind == "replace" else {"targets": [target.id]}
    with pytest.raises(Conflict) as said:
        lab.change_members(instance, NewMemberOperation(kind=kind, **how))  # type: ignore[arg-type]
    assert said.value.code == "closed_in_mode"
    return said.value.detail


def test_a_cluster_says_what_form_it_has_and_refuses_at_once_what_cannot_be_asked_in_it(
    lab: SlurmLab, cluster: str
) -> None:
    mode = lab.instance(cluster).mode
    assert mode is not None
    assert mode.name == "single-node"
    assert refused(lab, cluster, "remove").endswith("or decommission the cluster.")
    assert refused(lab, cluster, "replace").endswith("then remove this one.")
    assert "without it there is no cluster" in refused(lab, cluster, "remove", component="controller")


def test_no_line_of_error_is_in_the_logs_at_start(lab: SlurmLab, cluster: str) -> None:
    for log in ("slurmctld", "slurmd"):
        lines = lab.hosts[0].read_file(f"/var/log/gpuaas-slurm/{log}.log").splitlines()
        assert lines
        assert [line for line in lines if "error" in line.lower() or "pmix" in line.lower()] == []


def test_a_job_sees_the_gpus_that_it_was_given_and_no_others(lab: SlurmLab, cluster: str) -> None:
    look = "head -c1 /dev/nvidia0; head -c1 /dev/nvidia5"
    said = lab.as_user("srun", "-Q", "--input=none", "--gres=gpu:1", "sh", "-c", look)
    assert "nvidia0' for reading: No such device" in said  # the lab's GPU is a number without a driver
    assert "nvidia5' for reading: Operation not permitted" in said


def test_each_run_of_a_job_is_recorded_as_usage_also_without_accounting(lab: SlurmLab, cluster: str) -> None:
    job = lab.submitted("--gres=gpu:2", "-n1", "-c2")

    def used(metric: str) -> list[int]:
        found = lab.sandbox.admin.app_usage.list(lab.project_id, instance_id=cluster)
        return [one.quantity for one in found if (one.subject, one.metric) == (f"job {job}", metric)]

    for run, command in enumerate(("requeue", "cancel"), 1):
        lab.comes(lambda: lab.job(job) == "RUNNING", "the job", 120)
        time.sleep(2)
        lab.hosts[0].run(["scontrol", "requeue", job] if command == "requeue" else ["scancel", job])
        lab.comes(lambda run=run: len(used("jobs")) == run, f"the usage of run {run}", 60)  # type: ignore[misc]
        lab.hosts[0].run(["truncate", "--size=40M", COMPLETED_JOBS])  # the file is full: the next line begins another
    assert lab.hosts[0].run(["stat", "-c", "%s", f"{COMPLETED_JOBS}.1"]).stdout.strip() == str(40 << 20)
    assert used("jobs") == [1, 1]
    assert [seconds >= 2 for seconds in used("gpu_seconds")] == [True, True]
    assert sorted(used("cpu_seconds")) == sorted(used("gpu_seconds"))  # two cores and two GPUs


def test_the_commands_that_people_are_told_are_those_that_work(lab: SlurmLab, cluster: str) -> None:
    bundle = lab.instance(cluster).access_bundle or {}
    commands = bundle["commands"]
    assert isinstance(commands, dict)
    for command in commands.values():
        inner = str(command).partition(" -- ")[2].split()
        assert lab.hosts[0].run(["timeout", "60", *inner], check=False, timeout=65).returncode == 0, command
    assert f"HostKeyAlias {lab.places[0]}" in str(bundle["ssh_config"])


def test_many_workers_join_at_once_and_jobs_run_over_all_of_them(lab: SlurmLab, cluster: str) -> None:
    lab.succeeds(lab.add(cluster, 1, 2))
    mode = lab.instance(cluster).mode
    assert (mode and mode.name, "remove" in lab.worker(cluster, 0).allowed_actions) == ("multi-node", True)
    said = lab.as_user("srun", "-Q", "--input=none", "-N3", "hostname").split()
    assert sorted(said) == sorted(host.name for host in lab.hosts)
    log = lab.hosts[1].read_file("/var/log/gpuaas-slurm/slurmd.log")
    assert "error" not in log.lower()
    wide = lab.as_user("srun", "-Q", "--input=none", "-N3", "--gres=gpu:8", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert wide.split() == ["0,1,2,3,4,5,6,7"] * 3


def health(lab: SlurmLab, instance: str) -> tuple[str, list[str]]:
    now = lab.instance(instance)
    return now.health, [one.message for one in now.health_reasons]


def test_a_running_cluster_is_healthy_by_what_slurm_itself_says(lab: SlurmLab, cluster: str) -> None:
    assert health(lab, cluster) == ("healthy", [])
    before = lab.instance(cluster).health_reported_at
    lab.comes(lambda: lab.instance(cluster).health_reported_at != before, "another look at the cluster")
    assert health(lab, cluster) == ("healthy", [])


def test_a_drain_waits_for_the_jobs_that_run_and_recover_brings_the_worker_back(lab: SlurmLab, cluster: str) -> None:
    node = lab.node(cluster, 1)
    job = lab.submitted("-w", node, script="sleep 3")
    lab.comes(lambda: lab.job(job) == "RUNNING", "the job")
    lab.succeeds(lab.change(cluster, "drain", 1))
    assert lab.job(job) == "COMPLETED"
    assert (lab.nodes()[node], lab.worker(cluster, 1).status) == ("idle+DRAIN", "drained")
    lab.succeeds(lab.change(cluster, "recover", 1))
    assert lab.worker(cluster, 1).status == "ready"
    lab.comes(lambda: lab.nodes()[node] == "idle", "the end of the job that proved it")


def test_a_drain_with_a_deadline_queues_again_what_is_late(lab: SlurmLab, cluster: str) -> None:
    node = lab.node(cluster, 1)
    job = lab.submitted("-w", node)
    lab.comes(lambda: lab.job(job) == "RUNNING", "the job")
    lab.succeeds(lab.change(cluster, "drain", 1, jobs="deadline", grace_seconds=2))
    assert lab.job(job) == "PENDING"
    lab.hosts[0].run(["scancel", job])
    lab.succeeds(lab.change(cluster, "recover", 1))


def test_a_removal_names_the_jobs_that_it_would_strand_and_leaves_nothing_on_the_host(
    lab: SlurmLab, cluster: str
) -> None:
    node = lab.node(cluster, 1)
    running, waiting = lab.submitted("-w", node, "--exclusive"), lab.submitted("-w", node, "--exclusive")
    lab.comes(lambda: lab.job(running) == "RUNNING", "the job")
    refused = lab.fails(lab.change(cluster, "remove", 1), "jobs_would_strand")
    assert refused.failure is not None
    assert waiting in refused.failure.message
    assert lab.nodes()[node] == "allocated"  # nothing was touched
    lab.comes(lambda: lab.worker(cluster, 1).status == "ready", "the word of its health")
    removed = lab.succeeds(lab.change(cluster, "remove", 1, pending="cancel", jobs="cancel"))
    assert (lab.job(running), lab.job(waiting)) == ("CANCELLED", "CANCELLED")
    assert node not in lab.nodes()
    [receipt] = lab.receipts(removed)
    assert (receipt.status, receipt.verified) == ("clean", True)
    assert traces(lab.hosts[1]) == []


def test_a_removal_names_the_jobs_that_need_more_nodes_than_would_stay(lab: SlurmLab, cluster: str) -> None:
    wide = lab.submitted("-N2", "--begin=now+1hour")
    refused = lab.fails(lab.change(cluster, "remove", 2), "jobs_would_strand")
    assert refused.failure is not None
    assert wide in refused.failure.message
    lab.hosts[0].run(["scancel", wide])
    lab.comes(lambda: lab.worker(cluster, 2).status == "ready", "the word of its health")


def test_a_removed_worker_joins_again_and_a_worker_is_replaced_by_another_host(lab: SlurmLab, cluster: str) -> None:
    lab.succeeds(lab.change(cluster, "remove", 2))
    lab.succeeds(lab.add(cluster, 1))
    first = lab.node(cluster, 1)
    lab.succeeds(lab.replace(cluster, 1, 2))
    second = lab.node(cluster, 2)
    assert set(lab.nodes()) == {lab.node(cluster, 0), second}
    assert first != second
    assert traces(lab.hosts[1]) == []
    assert lab.as_user("srun", "-Q", "--input=none", "-w", second, "hostname") == lab.hosts[2].name


def test_drift_is_mended_by_reconcile_without_touching_what_runs(lab: SlurmLab, cluster: str) -> None:
    node = lab.node(cluster, 0)
    job = lab.submitted("-w", node)
    lab.comes(lambda: lab.job(job) == "RUNNING", "the job")
    controller, worker = lab.hosts[0], lab.hosts[2]
    controller.run(["rm", "/etc/slurm/slurm.conf"])
    worker.run(["rm", "/etc/slurm/slurm.conf", "/etc/slurm/gres.conf"])
    worker.run(["sh", "-c", "head -c 1024 /dev/urandom > /var/lib/gpuaas-slurm/munge/key"])
    worker.run(["systemctl", "kill", "--signal=KILL", "gpuaas-slurm-worker.service"])
    worker.run(["systemctl", "stop", "gpuaas-slurm-worker.service", "gpuaas-slurm-munge.service"])
    lab.verb(cluster, "reconcile")
    assert lab.as_user("srun", "-Q", "--input=none", "-w", lab.node(cluster, 2), "hostname") == worker.name
    assert lab.job(job) == "RUNNING"
    lab.hosts[0].run(["scancel", job])


def works(host: Host) -> bool:
    """Whether what was submitted runs, as the host itself sees it."""
    return host.run(["pgrep", "-fx", "sleep 600"], check=False).returncode == 0


def test_a_restart_keeps_jobs_and_a_stop_queues_them_again(lab: SlurmLab, cluster: str) -> None:
    job = lab.submitted("-w", lab.node(cluster, 2))
    lab.comes(lambda: works(lab.hosts[2]), "the job")  # Slurm calls it running before the host has heard of it
    steps = lab.hosts[2].run(["pgrep", "-x", "slurmstepd"]).stdout
    lab.verb(cluster, "restart")
    assert lab.job(job) == "RUNNING"
    assert lab.hosts[2].run(["pgrep", "-x", "slurmstepd"]).stdout == steps
    lab.verb(cluster, "stop")
    assert lab.instance(cluster).status == "stopped"
    for host in (lab.hosts[0], lab.hosts[2]):
        assert host.run(["pgrep", "-l", "slurm|munge"], check=False).stdout == ""
    lab.verb(cluster, "start")
    lab.comes(lambda: lab.job(job) == "RUNNING", "the job that was queued again")
    lab.hosts[0].run(["scancel", job])


@pytest.mark.parametrize(
    ("verb", "jobs", "becomes"),
    [
        ("stop", "wait", {"COMPLETED"}),
        ("stop", "cancel", {"CANCELLED"}),
        ("restart", "wait", {"COMPLETED"}),
        ("restart", "requeue", {"PENDING", "RUNNING"}),
    ],
)
def test_what_becomes_of_running_jobs_is_the_requests_choice_and_queued_ones_stay_queued(
    lab: SlurmLab, cluster: str, verb: str, jobs: str, becomes: set[str]
) -> None:
    on_it = ("-w", lab.node(cluster, 2), "--exclusive")
    running = lab.submitted(*on_it, script="sleep 4" if jobs == "wait" else "sleep 600")
    lab.comes(lambda: lab.job(running) == "RUNNING", "the job")
    queued = lab.submitted(*on_it)
    assert lab.job(queued) == "PENDING"
    lab.verb(cluster, verb, jobs=jobs)
    if verb == "stop":
        lab.verb(cluster, "start")
    assert lab.job(running) in becomes
    if becomes & {"COMPLETED", "CANCELLED"}:
        lab.comes(lambda: lab.job(queued) == "RUNNING", "the turn of the job that waited")
    assert lab.job(queued) in ("PENDING", "RUNNING")
    lab.hosts[0].run(["scancel", running, queued])
    lab.comes(lambda: lab.nodes()[lab.node(cluster, 2)] == "idle", "the free worker")


def test_a_worker_that_loses_its_power_is_seen_and_comes_back_by_itself(lab: SlurmLab, cluster: str) -> None:
    node, host = lab.node(cluster, 2), lab.hosts[2]
    host.power_cut()
    lab.comes(lambda: lab.nodes()[node].startswith("down"), "Slurm's own word", 60)
    lab.comes(lambda: health(lab, cluster)[0] == "degraded", "the degraded health", 30)
    assert any(node in message for message in health(lab, cluster)[1])
    host.power_on()
    host.wait_ssh()
    lab.comes(lambda: lab.nodes()[node] == "idle", "the worker", 60)
    lab.comes(lambda: health(lab, cluster) == ("healthy", []), "its health", 60)


def test_a_controller_that_loses_its_power_is_unhealthy_and_comes_back_with_its_queue(
    lab: SlurmLab, cluster: str
) -> None:
    job = lab.submitted("--begin=now+1hour", script="true")
    host = lab.hosts[0]
    lab.hosts[0].run(["sync"])
    host.power_cut()
    lab.comes(lambda: health(lab, cluster)[0] == "unhealthy", "the unhealthy health", 60)
    host.power_on()
    host.wait_ssh()
    lab.comes(lambda: health(lab, cluster) == ("healthy", []), "its health", 90)
    assert lab.job(job) == "PENDING"
    lab.hosts[0].run(["scancel", job])


def test_another_cluster_beside_the_first_does_not_disturb_it(lab: SlurmLab, cluster: str) -> None:
    job = lab.submitted("-w", lab.node(cluster, 2))
    other, operation = lab.launch("other", [1], controller=1, packages="host", cluster_name="second")
    lab.succeeds(operation)
    shown = lab.as_user("sinfo", "-h", "-o", "%N", host=1)
    assert shown == f"w{lab.worker(other, 1).ordinal}"
    lab.torn_down(other)
    assert traces(lab.hosts[1]) == []
    assert lab.job(job) == "RUNNING"
    assert health(lab, cluster)[0] == "healthy"


def test_a_decommission_ends_jobs_and_leaves_every_host_as_it_was(lab: SlurmLab, cluster: str) -> None:
    lab.torn_down(cluster)
    assert [traces(host) for host in lab.hosts] == [[], [], []]
    for host in lab.hosts:
        assert host.run(["pgrep", "-l", "slurm|munge|sleep"], check=False).stdout == ""


def keys_and_a_table(lab: SlurmLab, user: str) -> None:
    """What people leave in an account: a key that opens it, a table for cron, and something that runs on."""
    ssh, host = f"/var/lib/gpuaas-slurm/home/{user}/.ssh", lab.hosts[1]
    lab.as_user("mkdir", "-p", ssh, user=user, host=1)
    lab.as_user("sh", "-c", f"echo 'ssh-ed25519 AAAA someone' > {ssh}/authorized_keys", user=user, host=1)
    host.write_file(f"/var/spool/cron/crontabs/{user}", "@daily true\n")
    host.run(["systemd-run", "--quiet", f"--uid={user}", "sleep", "6000"])


def test_login_users_their_homes_keys_and_processes_go_with_the_cluster_and_are_looked_for(
    lab: SlurmLab, at_work_here: None
) -> None:
    """The disk is read from outside: neither the host nor its agent is asked."""
    host, users = lab.hosts[1], [{"name": "ann"}, {"name": "bob", "account": "text"}]
    host.run(["mkdir", "-p", "/var/spool/cron/crontabs"])
    before = disk(host)
    instance, deploy = lab.launch("people", [1], controller=1, packages="host", users=users)
    lab.succeeds(deploy)
    keys_and_a_table(lab, "ann")
    there = other_than(before, host)
    assert {"etc/passwd", "etc/shadow", "var/lib/gpuaas-slurm/home/ann/.ssh/authorized_keys"} <= set(there)
    # A host that keeps an account is found out, whatever the controller says.
    host.run(["mv", "/usr/sbin/userdel", "/usr/sbin/userdel.away"])
    host.run(["ln", "-s", "/bin/true", "/usr/sbin/userdel"])
    failed = lab.fails(lab.operate(instance, "decommission"), "teardown_incomplete")
    assert failed.failure is not None
    assert "ann" in failed.failure.message
    host.run(["mv", "/usr/sbin/userdel.away", "/usr/sbin/userdel"])
    gone = lab.torn_down(instance)
    receipt = lab.receipts(gone)[0]
    checks = {one.name: one for one in lab.sandbox.admin.receipts.show(lab.project_id, receipt.id).checks}
    assert [(checks[name].entries, checks[name].verdict) for name in ("users", "authorized_keys")] == [
        (["ann", "bob"], "absent")
    ] * 2
    left = [name for name in other_than(before, host) if not name.startswith("usr/sbin")]
    assert (left, host.run(["pgrep", "-x", "sleep"], check=False).stdout) == ([], "")


def test_a_job_gets_the_cores_and_the_memory_that_it_asked_for_and_no_more(lab: SlurmLab, at_work_here: None) -> None:
    instance, deploy = lab.launch("bounded", [1], controller=1, packages="host", confine_memory=True)
    lab.succeeds(deploy)
    job = ("srun", "-Q", "--input=none", "-n1", "-c1")
    eats = ("python3", "-c", "x = bytearray(300 << 20); print('ate', len(x) >> 20)")
    assert lab.as_user(*job, "--mem=600M", *eats, host=1) == "ate 300"
    killed = lab.as_user(*job, "--mem=64M", *eats, host=1)
    assert ("ate" in killed, "oom" in killed.lower()) == (False, True)
    assert lab.as_user(*job, "--mem=64M", "nproc", host=1) == "1"
    lab.torn_down(instance)
    assert traces(lab.hosts[1]) == []


def _usage(lab: SlurmLab, instance: str) -> dict[str, dict[str, int]]:
    """Without accounts that have not used a GPU yet: the proof's own jobs take none."""
    found: dict[str, dict[str, int]] = (lab.instance(instance).runtime or {}).get("usage") or {}  # type: ignore[assignment]
    return {account: used for account, used in found.items() if used["gpu_seconds"]}


def test_the_same_allocations_take_the_next_cluster_with_accounting_and_an_account_for_each_team(
    lab: SlurmLab, at_work_here: None
) -> None:
    users = [{"name": "ann", "account": "vision"}, {"name": "bob", "account": "text"}]
    instance = lab.launched("next", [0, 1], packages="host", accounting=True, users=users)
    for user in ("ann", "bob"):
        assert lab.as_user("srun", "-Q", "--input=none", "--gres=gpu:2", "sleep", "1", user=user) == ""
    lab.comes(lambda: set(_usage(lab, instance)) == {"vision", "text"}, "the use of each account")
    assert all(one["jobs"] >= 1 and one["gpu_seconds"] >= 2 for one in _usage(lab, instance).values())
    assert "Invalid account" in lab.as_user("srun", "-Q", "--input=none", "-A", "text", "true", user="ann")
    log = lab.hosts[0].read_file("/var/log/gpuaas-slurm/slurmctld.log")
    assert [line for line in log.splitlines() if "error" in line.lower() and "Invalid" not in line] == []
    lab.torn_down(instance)
    assert [traces(host) for host in lab.hosts] == [[], [], []]
