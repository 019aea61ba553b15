"""Slurm on real hosts, through the public API alone: a cluster's life from its launch to the proof that it is gone."""

import re
from collections.abc import Iterator

import pytest

from gpuaas_lab import Host
from gpuaas_sdk import Conflict, NewMemberOperation, ReplaceTarget
from gpuaas_slurm.controller import Slurm
from system_support.echo_ground import at_work
from system_support.slurm_ground import Ground, disk, other_than, slurm_ground, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with slurm_ground("slurm", 3) as made:
        yield made


@pytest.fixture(scope="module")
def at_work_here(ground: Ground) -> Iterator[None]:
    """One controller for the whole story, as a project has it."""
    slurm = Slurm()
    slurm.health_seconds = 1.0
    with at_work(slurm, ground.controller()):
        yield


@pytest.fixture(scope="module")
def cluster(ground: Ground, at_work_here: None) -> str:
    """A cluster of one node, on the first host."""
    return ground.launched("story", [0], packages="host")


def test_a_cluster_of_one_node_is_ready_for_its_users_when_it_says_so(ground: Ground, cluster: str) -> None:
    seen = ground.as_user("srun", "-Q", "--input=none", "--gres=gpu:2", "env")
    assert "CUDA_VISIBLE_DEVICES=0,1" in seen
    assert re.fullmatch(r"\d+", ground.submitted(script="true"))
    runtime = ground.instance(cluster).runtime or {}
    assert (runtime["app_version"], runtime["slurm_version"]) == ("0.1.0", "22.05.8")
    assert str(runtime["package_version"]).startswith("22.05.8-")


def refused(ground: Ground, instance: str, kind: str, *, component: str = "worker") -> str:
    """Why it cannot be asked for, of the member on the first host; it is not offered either."""
    found = ground.world.admin.instances.members(ground.project_id, instance)
    place, other = ground.places[0], ground.places[1]
    target = next(one for one in found if (one.component_key, one.allocation_id) == (component, place))
    assert kind not in target.allowed_actions
    move = [ReplaceTarget(member_id=target.id, allocation_id=other)]
    how = {"replacements": move} if kind == "replace" else {"targets": [target.id]}
    with pytest.raises(Conflict) as said:
        ground.change_members(instance, NewMemberOperation(kind=kind, **how))  # type: ignore[arg-type]
    assert said.value.code == "closed_in_mode"
    return said.value.detail


def test_a_cluster_says_what_form_it_has_and_refuses_at_once_what_cannot_be_asked_in_it(
    ground: Ground, cluster: str
) -> None:
    mode = ground.instance(cluster).mode
    assert mode is not None
    assert mode.name == "single-node"
    assert refused(ground, cluster, "remove").endswith("or decommission the cluster.")
    assert refused(ground, cluster, "replace").endswith("then remove this one.")
    assert "without it there is no cluster" in refused(ground, cluster, "remove", component="controller")


def test_no_line_of_error_is_in_the_logs_at_start(ground: Ground, cluster: str) -> None:
    for log in ("slurmctld", "slurmd"):
        lines = ground.hosts[0].read_file(f"/var/log/gpuaas-slurm/{log}.log").splitlines()
        assert lines
        assert [line for line in lines if "error" in line.lower() or "pmix" in line.lower()] == []


def test_a_job_sees_the_gpus_that_it_was_given_and_no_others(ground: Ground, cluster: str) -> None:
    look = "head -c1 /dev/nvidia0; head -c1 /dev/nvidia5"
    said = ground.as_user("srun", "-Q", "--input=none", "--gres=gpu:1", "sh", "-c", look)
    assert "nvidia0' for reading: No such device" in said  # the lab's GPU is a number without a driver
    assert "nvidia5' for reading: Operation not permitted" in said


def test_the_commands_that_people_are_told_are_those_that_work(ground: Ground, cluster: str) -> None:
    bundle = ground.instance(cluster).access_bundle or {}
    commands = bundle["commands"]
    assert isinstance(commands, dict)
    for command in commands.values():
        inner = str(command).partition(" -- ")[2].split()
        assert ground.hosts[0].run(["timeout", "60", *inner], check=False, timeout=65).returncode == 0, command
    assert f"HostKeyAlias {ground.places[0]}" in str(bundle["ssh_config"])


def test_many_workers_join_at_once_and_jobs_run_over_all_of_them(ground: Ground, cluster: str) -> None:
    ground.succeeds(ground.add(cluster, 1, 2))
    mode = ground.instance(cluster).mode
    assert (mode and mode.name, "remove" in ground.worker(cluster, 0).allowed_actions) == ("multi-node", True)
    said = ground.as_user("srun", "-Q", "--input=none", "-N3", "hostname").split()
    assert sorted(said) == sorted(host.name for host in ground.hosts)
    log = ground.hosts[1].read_file("/var/log/gpuaas-slurm/slurmd.log")
    assert "error" not in log.lower()
    wide = ground.as_user("srun", "-Q", "--input=none", "-N3", "--gres=gpu:8", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert wide.split() == ["0,1,2,3,4,5,6,7"] * 3


def health(ground: Ground, instance: str) -> tuple[str, list[str]]:
    now = ground.instance(instance)
    return now.health, [one.message for one in now.health_reasons]


def test_a_running_cluster_is_healthy_by_what_slurm_itself_says(ground: Ground, cluster: str) -> None:
    assert health(ground, cluster) == ("healthy", [])
    before = ground.instance(cluster).health_reported_at
    ground.comes(lambda: ground.instance(cluster).health_reported_at != before, "another look at the cluster")
    assert health(ground, cluster) == ("healthy", [])


def test_a_drain_waits_for_the_jobs_that_run_and_recover_brings_the_worker_back(ground: Ground, cluster: str) -> None:
    node = ground.node(cluster, 1)
    job = ground.submitted("-w", node, script="sleep 3")
    ground.comes(lambda: ground.job(job) == "RUNNING", "the job")
    ground.succeeds(ground.change(cluster, "drain", 1))
    assert ground.job(job) == "COMPLETED"
    assert (ground.nodes()[node], ground.worker(cluster, 1).status) == ("idle+DRAIN", "drained")
    ground.succeeds(ground.change(cluster, "recover", 1))
    assert ground.worker(cluster, 1).status == "ready"
    ground.comes(lambda: ground.nodes()[node] == "idle", "the end of the job that proved it")


def test_a_drain_with_a_deadline_queues_again_what_is_late(ground: Ground, cluster: str) -> None:
    node = ground.node(cluster, 1)
    job = ground.submitted("-w", node)
    ground.comes(lambda: ground.job(job) == "RUNNING", "the job")
    ground.succeeds(ground.change(cluster, "drain", 1, jobs="deadline", grace_seconds=2))
    assert ground.job(job) == "PENDING"
    ground.hosts[0].run(["scancel", job])
    ground.succeeds(ground.change(cluster, "recover", 1))


def test_a_removal_names_the_jobs_that_it_would_strand_and_leaves_nothing_on_the_host(
    ground: Ground, cluster: str
) -> None:
    node = ground.node(cluster, 1)
    running, waiting = ground.submitted("-w", node, "--exclusive"), ground.submitted("-w", node, "--exclusive")
    ground.comes(lambda: ground.job(running) == "RUNNING", "the job")
    refused = ground.fails(ground.change(cluster, "remove", 1), "jobs_would_strand")
    assert refused.failure is not None
    assert waiting in refused.failure.message
    assert ground.nodes()[node] == "allocated"  # nothing was touched
    ground.comes(lambda: ground.worker(cluster, 1).status == "ready", "the word of its health")
    removed = ground.succeeds(ground.change(cluster, "remove", 1, pending="cancel", jobs="cancel"))
    assert (ground.job(running), ground.job(waiting)) == ("CANCELLED", "CANCELLED")
    assert node not in ground.nodes()
    [receipt] = ground.receipts(removed)
    assert (receipt.status, receipt.verified) == ("clean", True)
    assert traces(ground.hosts[1]) == []


def test_a_removal_names_the_jobs_that_need_more_nodes_than_would_stay(ground: Ground, cluster: str) -> None:
    wide = ground.submitted("-N2", "--begin=now+1hour")
    refused = ground.fails(ground.change(cluster, "remove", 2), "jobs_would_strand")
    assert refused.failure is not None
    assert wide in refused.failure.message
    ground.hosts[0].run(["scancel", wide])
    ground.comes(lambda: ground.worker(cluster, 2).status == "ready", "the word of its health")


def test_a_removed_worker_joins_again_and_a_worker_is_replaced_by_another_host(ground: Ground, cluster: str) -> None:
    ground.succeeds(ground.change(cluster, "remove", 2))
    ground.succeeds(ground.add(cluster, 1))
    first = ground.node(cluster, 1)
    ground.succeeds(ground.replace(cluster, 1, 2))
    second = ground.node(cluster, 2)
    assert set(ground.nodes()) == {ground.node(cluster, 0), second}
    assert first != second
    assert traces(ground.hosts[1]) == []
    assert ground.as_user("srun", "-Q", "--input=none", "-w", second, "hostname") == ground.hosts[2].name


def test_drift_is_mended_by_reconcile_without_touching_what_runs(ground: Ground, cluster: str) -> None:
    node = ground.node(cluster, 0)
    job = ground.submitted("-w", node)
    ground.comes(lambda: ground.job(job) == "RUNNING", "the job")
    controller, worker = ground.hosts[0], ground.hosts[2]
    controller.run(["rm", "/etc/slurm/slurm.conf"])
    worker.run(["rm", "/etc/slurm/slurm.conf", "/etc/slurm/gres.conf"])
    worker.run(["sh", "-c", "head -c 1024 /dev/urandom > /var/lib/gpuaas-slurm/munge/key"])
    worker.run(["systemctl", "kill", "--signal=KILL", "gpuaas-slurm-worker.service"])
    worker.run(["systemctl", "stop", "gpuaas-slurm-worker.service", "gpuaas-slurm-munge.service"])
    ground.verb(cluster, "reconcile")
    assert ground.as_user("srun", "-Q", "--input=none", "-w", ground.node(cluster, 2), "hostname") == worker.name
    assert ground.job(job) == "RUNNING"
    ground.hosts[0].run(["scancel", job])


def works(host: Host) -> bool:
    """Whether what was submitted runs, as the host itself sees it."""
    return host.run(["pgrep", "-fx", "sleep 600"], check=False).returncode == 0


def test_a_restart_keeps_jobs_and_a_stop_queues_them_again(ground: Ground, cluster: str) -> None:
    job = ground.submitted("-w", ground.node(cluster, 2))
    ground.comes(lambda: works(ground.hosts[2]), "the job")  # Slurm calls it running before the host has heard of it
    steps = ground.hosts[2].run(["pgrep", "-x", "slurmstepd"]).stdout
    ground.verb(cluster, "restart")
    assert ground.job(job) == "RUNNING"
    assert ground.hosts[2].run(["pgrep", "-x", "slurmstepd"]).stdout == steps
    ground.verb(cluster, "stop")
    assert ground.instance(cluster).status == "stopped"
    for host in (ground.hosts[0], ground.hosts[2]):
        assert host.run(["pgrep", "-l", "slurm|munge"], check=False).stdout == ""
    ground.verb(cluster, "start")
    ground.comes(lambda: ground.job(job) == "RUNNING", "the job that was queued again")
    ground.hosts[0].run(["scancel", job])


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
    ground: Ground, cluster: str, verb: str, jobs: str, becomes: set[str]
) -> None:
    on_it = ("-w", ground.node(cluster, 2), "--exclusive")
    running = ground.submitted(*on_it, script="sleep 4" if jobs == "wait" else "sleep 600")
    ground.comes(lambda: ground.job(running) == "RUNNING", "the job")
    queued = ground.submitted(*on_it)
    assert ground.job(queued) == "PENDING"
    ground.verb(cluster, verb, jobs=jobs)
    if verb == "stop":
        ground.verb(cluster, "start")
    assert ground.job(running) in becomes
    if becomes & {"COMPLETED", "CANCELLED"}:
        ground.comes(lambda: ground.job(queued) == "RUNNING", "the turn of the job that waited")
    assert ground.job(queued) in ("PENDING", "RUNNING")
    ground.hosts[0].run(["scancel", running, queued])
    ground.comes(lambda: ground.nodes()[ground.node(cluster, 2)] == "idle", "the free worker")


def test_a_worker_that_loses_its_power_is_seen_and_comes_back_by_itself(ground: Ground, cluster: str) -> None:
    node, host = ground.node(cluster, 2), ground.hosts[2]
    host.power_cut()
    ground.comes(lambda: ground.nodes()[node].startswith("down"), "Slurm's own word", 60)
    ground.comes(lambda: health(ground, cluster)[0] == "degraded", "the degraded health", 30)
    assert any(node in message for message in health(ground, cluster)[1])
    host.power_on()
    host.wait_ssh()
    ground.comes(lambda: ground.nodes()[node] == "idle", "the worker", 60)
    ground.comes(lambda: health(ground, cluster) == ("healthy", []), "its health", 60)


def test_a_controller_that_loses_its_power_is_unhealthy_and_comes_back_with_its_queue(
    ground: Ground, cluster: str
) -> None:
    job = ground.submitted("--begin=now+1hour", script="true")
    host = ground.hosts[0]
    ground.hosts[0].run(["sync"])
    host.power_cut()
    ground.comes(lambda: health(ground, cluster)[0] == "unhealthy", "the unhealthy health", 60)
    host.power_on()
    host.wait_ssh()
    ground.comes(lambda: health(ground, cluster) == ("healthy", []), "its health", 90)
    assert ground.job(job) == "PENDING"
    ground.hosts[0].run(["scancel", job])


def test_another_cluster_beside_the_first_does_not_disturb_it(ground: Ground, cluster: str) -> None:
    job = ground.submitted("-w", ground.node(cluster, 2))
    other, operation = ground.launch("other", [1], controller=1, packages="host", cluster_name="second")
    ground.succeeds(operation)
    shown = ground.as_user("sinfo", "-h", "-o", "%N", host=1)
    assert shown == f"w{ground.worker(other, 1).ordinal}"
    ground.torn_down(other)
    assert traces(ground.hosts[1]) == []
    assert ground.job(job) == "RUNNING"
    assert health(ground, cluster)[0] == "healthy"


def test_a_decommission_ends_jobs_and_leaves_every_host_as_it_was(ground: Ground, cluster: str) -> None:
    ground.torn_down(cluster)
    assert [traces(host) for host in ground.hosts] == [[], [], []]
    for host in ground.hosts:
        assert host.run(["pgrep", "-l", "slurm|munge|sleep"], check=False).stdout == ""


def keys_and_a_table(ground: Ground, user: str) -> None:
    """What people leave in an account: a key that opens it, a table for cron, and something that runs on."""
    ssh, host = f"/var/lib/gpuaas-slurm/home/{user}/.ssh", ground.hosts[1]
    ground.as_user("mkdir", "-p", ssh, user=user, host=1)
    ground.as_user("sh", "-c", f"echo 'ssh-ed25519 AAAA someone' > {ssh}/authorized_keys", user=user, host=1)
    host.write_file(f"/var/spool/cron/crontabs/{user}", "@daily true\n")
    host.run(["systemd-run", "--quiet", f"--uid={user}", "sleep", "6000"])


def test_login_users_their_homes_keys_and_processes_go_with_the_cluster_and_are_looked_for(
    ground: Ground, at_work_here: None
) -> None:
    """The disk is read from outside: neither the host nor its agent is asked."""
    host, users = ground.hosts[1], [{"name": "ann"}, {"name": "bob", "account": "text"}]
    host.run(["mkdir", "-p", "/var/spool/cron/crontabs"])
    before = disk(host)
    instance, deploy = ground.launch("people", [1], controller=1, packages="host", users=users)
    ground.succeeds(deploy)
    keys_and_a_table(ground, "ann")
    there = other_than(before, host)
    assert {"etc/passwd", "etc/shadow", "var/lib/gpuaas-slurm/home/ann/.ssh/authorized_keys"} <= set(there)
    # A host that keeps an account is found out, whatever the controller says.
    host.run(["mv", "/usr/sbin/userdel", "/usr/sbin/userdel.away"])
    host.run(["ln", "-s", "/bin/true", "/usr/sbin/userdel"])
    failed = ground.fails(ground.operate(instance, "decommission"), "teardown_incomplete")
    assert failed.failure is not None
    assert "ann" in failed.failure.message
    host.run(["mv", "/usr/sbin/userdel.away", "/usr/sbin/userdel"])
    gone = ground.torn_down(instance)
    receipt = ground.receipts(gone)[0]
    checks = {one.name: one for one in ground.world.admin.receipts.show(ground.project_id, receipt.id).checks}
    assert [(checks[name].looked_for, checks[name].verdict) for name in ("users", "authorized_keys")] == [
        (["ann", "bob"], "absent")
    ] * 2
    left = [name for name in other_than(before, host) if not name.startswith("usr/sbin")]
    assert (left, host.run(["pgrep", "-x", "sleep"], check=False).stdout) == ([], "")


def test_a_job_gets_the_cores_and_the_memory_that_it_asked_for_and_no_more(ground: Ground, at_work_here: None) -> None:
    instance, deploy = ground.launch("bounded", [1], controller=1, packages="host", confine_memory=True)
    ground.succeeds(deploy)
    job = ("srun", "-Q", "--input=none", "-n1", "-c1")
    eats = ("python3", "-c", "x = bytearray(300 << 20); print('ate', len(x) >> 20)")
    assert ground.as_user(*job, "--mem=600M", *eats, host=1) == "ate 300"
    killed = ground.as_user(*job, "--mem=64M", *eats, host=1)
    assert ("ate" in killed, "oom" in killed.lower()) == (False, True)
    assert ground.as_user(*job, "--mem=64M", "nproc", host=1) == "1"
    ground.torn_down(instance)
    assert traces(ground.hosts[1]) == []


def _usage(ground: Ground, instance: str) -> dict[str, dict[str, int]]:
    """Without accounts that have not used a GPU yet: the proof's own jobs take none."""
    found: dict[str, dict[str, int]] = (ground.instance(instance).runtime or {}).get("usage") or {}  # type: ignore[assignment]
    return {account: used for account, used in found.items() if used["gpu_seconds"]}


def test_the_same_allocations_take_the_next_cluster_with_accounting_and_an_account_for_each_team(
    ground: Ground, at_work_here: None
) -> None:
    users = [{"name": "ann", "account": "vision"}, {"name": "bob", "account": "text"}]
    instance = ground.launched("next", [0, 1], packages="host", accounting=True, users=users)
    for user in ("ann", "bob"):
        assert ground.as_user("srun", "-Q", "--input=none", "--gres=gpu:2", "sleep", "1", user=user) == ""
    ground.comes(lambda: set(_usage(ground, instance)) == {"vision", "text"}, "the use of each account")
    assert all(one["jobs"] >= 1 and one["gpu_seconds"] >= 2 for one in _usage(ground, instance).values())
    assert "Invalid account" in ground.as_user("srun", "-Q", "--input=none", "-A", "text", "true", user="ann")
    log = ground.hosts[0].read_file("/var/log/gpuaas-slurm/slurmctld.log")
    assert [line for line in log.splitlines() if "error" in line.lower() and "Invalid" not in line] == []
    ground.torn_down(instance)
    assert [traces(host) for host in ground.hosts] == [[], [], []]
