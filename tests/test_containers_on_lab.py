"""Launchable containers on real hosts, through the public API alone: published, pulled by digest, run, and gone again."""

import re
import time
from asyncio import to_thread
from collections.abc import Iterator

import pytest

from gpuaas_containers.controller import Containers
from gpuaas_containers.names import MemberNames
from gpuaas_lab import Host
from gpuaas_sdk import NewMemberOperation, Operation, ReplaceTarget
from gpuaas_sdk.testing import interrupting_replicas
from system_support.container_lab import (
    NOTHING,
    PORT,
    ContainerLab,
    container_lab,
    engine_lists,
    let_systemd_restart,
    names_of,
    says,
    web_image,
)
from system_support.echo_lab import at_work

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
ONE, TWO, CRASHING, ALL_FIELDS, MANY_GPUS = "1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0"
WITH_SECRETS, WITH_GPUS = "6.0.0", "7.0.0"
SECRET_ANSWER = "open-sesame"  # a container of ours writes it to its log
GIVEN_PASSWORD = "never-in-a-log"
VOLUME = {"volumes": [{"name": "data", "path": "/data"}]}
SAYS_VERSION = {"runtime_version_from": {"port": 80, "path": "/version"}}
# Read in the container, at a port of its own that the host does not know.
ANSWERS = {
    "key": "answers",
    "unit": "count",
    "counter": {"component": "web", "port": 80, "metric": "answers_total", "labels": {"kind": "web"}},
}
CRASH = "printf 'given %s \\033[31mno model\\n' \"$ANSWER\"; exit 3"
# Arguments and variables as the container got them, with an end after each.
TELL = (
    'echo hello > /data/greeting; for one in "$@"; do printf \'%s|END|\' "$one"; done > /data/args;'
    " printf '%s' \"$HOSTILE\" > /data/variable; { id -u; ls /dev; touch /etc/x || echo read-only; } > /data/facts 2>&1;"
    " exec httpd -f -p 80 -h /data"
)
HOSTILE = [
    "%n %i %%",
    "$HOME ${PATH} $$",
    '"; ExecStart=/bin/true',
    "'`id`$(id)",
    "\\n \\x41 \\",
    "two\nlines\tand a tab",
    ";",
    "",
    "grüße 🦀 \u202eabc",
    "x" * 5000,
]
_ALLOCATE_128_MIB = "x=$(dd if=/dev/zero bs=1M count=128 2>/dev/null | tr '\\0' a); echo ${#x}"


@pytest.fixture(scope="module")
def whole_lab() -> Iterator[ContainerLab]:
    with container_lab("launch", hosts=2) as made:
        made.release(ONE, web_image("hello"), {**VOLUME, **SAYS_VERSION}, metering=[ANSWERS])
        made.release(TWO, web_image("hello again"), VOLUME)
        yield made


@pytest.fixture
def lab(whole_lab: ContainerLab) -> Iterator[ContainerLab]:
    yield whole_lab
    whole_lab.clear()


def test_a_container_goes_through_all_verbs_of_an_instance_and_leaves_nothing(lab: ContainerLab) -> None:
    [host, _] = lab.hosts
    began, controller = time.monotonic(), Containers()
    controller.health_seconds = 0.5  # so often it reads what hosts have counted
    with at_work(controller, lab.controller()):
        instance, deploy = lab.launch("story", ONE)
        lab.succeeds(deploy)
        assert says(lab) == "hello"
        events = [one.type for one in lab.sandbox.admin.instances.timeline(lab.project_id, instance).items]
        assert events.index("operation.probing") < events.index("instance.start_completed")
        member = lab.member(instance)
        names, detail = names_of(instance, member), member.adapter_detail or {}
        assert (member.status, member.probes[0].status, detail["unit"]) == ("ready", "passing", names.unit)
        bundle = lab.instance(instance).access_bundle or {}
        assert bundle["greeting"] == f"http://{host.address}:{PORT}/greeting"
        assert "httpd" in host.run(["podman", "top", names.name, "args"]).stdout
        secrets = "ls -d /run/gpuaas-pull* /root/.docker /root/.config/containers /run/containers/0/auth.json"
        assert host.run(["sh", "-c", secrets], check=False).stdout == ""

        def container() -> object:
            return (lab.member(instance).adapter_detail or {})["container"]

        first = let_systemd_restart(lab, names.name, times=3)
        count(host, names, 5)
        lab.used(instance, answers=5)
        lab.sandbox.admin.wait_for(
            lambda: tells(lab, instance, "7.7", "degraded"), 60, "what the container says of its version"
        )
        lab.verb(instance, "reconcile")
        assert container() == first, "it ran as it should and was restarted"
        host.run(["podman", "exec", names.name, "sh", "-c", "echo kept > /data/note"])
        lab.verb(instance, "restart")
        assert (container() != first, says(lab)) == (True, "hello")
        count(host, names, 3)  # the counter began again with the container
        lab.used(instance, answers=8)
        lab.succeeds(lab.upgrade(instance, TWO))
        assert says(lab) == "hello again"
        assert len(engine_lists(host)["images"]) == 1, "the image of the version before is still there"
        lab.verb(instance, "rollback")
        assert says(lab) == "hello"
        count(host, names, 4)
        stopped = lab.verb(instance, "stop")
        assert (says(lab), engine_lists(host)["ps"]) == ("", [])
        assert {one.status for one in lab.receipts(stopped)} == {"clean"}
        lab.verb(instance, "start")
        assert host.run(["podman", "exec", names.name, "cat", "/data/note"]).stdout == "kept\n"
        host.run(["rm", names.unit_path])
        host.run(["podman", "rm", "--force", "--time=0", names.name])
        lab.verb(instance, "repair")
        assert says(lab) == "hello"
        lab.torn_down(instance)
    totals = lab.used(instance, answers=12)
    assert 1 <= totals["container_seconds"] <= time.monotonic() - began
    assert engine_lists(host) == NOTHING
    assert host.run(["ls", "/var/lib/gpuaas-containers", "/var/lib/gpuaas-usage"], check=False).stdout == ""


def tells(lab: ContainerLab, instance: str, version: str, health: str) -> bool | None:
    """Whether the instance shows the version that its container says, and what follows."""
    now = lab.instance(instance)
    codes = [one.code for one in now.health_reasons]
    return (now.runtime_version, now.health, codes) == (version, health, ["runtime_version_mismatch"]) or None


def count(host: Host, names: MemberNames, value: int) -> None:
    """Let the container say that it has answered so often, and the host read it, as its timer does now and then."""
    page = f'answers_total{{kind="web",code="200"}} {value}\\nanswers_total{{kind="other"}} 99\\n'
    version = "printf '7.7' > /www/version"  # the manifest declares another one
    host.run(["podman", "exec", names.name, "sh", "-c", f"printf '{page}' > /www/metrics; {version}"])
    host.run(["systemctl", "start", f"{names.meter}.service"])


def change(lab: ContainerLab, instance: str, kind: str, **more: object) -> Operation:
    return lab.succeeds(lab.change_members(instance, NewMemberOperation(kind=kind, **more)))  # type: ignore[arg-type]


def test_a_container_that_hangs_is_mended_by_the_first_reconcile(lab: ContainerLab) -> None:
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("hangs", ONE)
        lab.succeeds(deploy)
        first = (lab.member(instance).adapter_detail or {})["container"]
        name = names_of(instance, lab.member(instance)).name
        process = lab.hosts[0].run(["podman", "inspect", "--format", "{{.State.Pid}}", name]).stdout.strip()
        lab.hosts[0].run(["kill", "-STOP", process])  # its unit is active, and its port is open
        lab.sandbox.admin.wait_for(lambda: lab.member(instance).health == "unhealthy" or None, 120, "the probe to fail")
        assert lab.member(instance).status == "ready"
        lab.verb(instance, "reconcile")
        after = lab.member(instance)
        assert ((after.adapter_detail or {})["container"] != first, after.health, says(lab)) == (
            True,
            "healthy",
            "hello",
        )
        lab.torn_down(instance)


def test_members_join_drain_move_and_leave(lab: ContainerLab) -> None:
    first, second = lab.hosts
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("members", ONE)
        lab.succeeds(deploy)
        change(lab, instance, "add", component_key="web", allocation_ids=[lab.places[1]])
        assert (says(lab), says(lab, place=1)) == ("hello", "hello")
        added = next(
            one
            for one in lab.sandbox.admin.instances.members(lab.project_id, instance)
            if one.allocation_id == lab.places[1]
        )
        change(lab, instance, "drain", targets=[added.id])
        assert says(lab, place=1) == ""
        change(lab, instance, "recover", targets=[added.id])
        assert says(lab, place=1) == "hello"
        change(lab, instance, "remove", targets=[added.id])
        assert engine_lists(second) == NOTHING
        moved = ReplaceTarget(member_id=lab.member(instance).id, allocation_id=lab.places[1])
        change(lab, instance, "replace", replacements=[moved])
        assert (says(lab), says(lab, place=1), engine_lists(first)) == ("", "hello", NOTHING)
        assert lab.instance(instance).access_bundle == {"greeting": f"http://{second.address}:{PORT}/greeting"}
        lab.torn_down(instance)


def test_hostile_answers_arrive_as_they_are_and_the_container_has_its_limits(lab: ContainerLab) -> None:
    names = [f"v{number}" for number in range(len(HOSTILE))]
    fields = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    profile = {
        "command": ["/bin/sh", "-c", TELL, "tell"],
        "args": [{"input": f"/{name}"} for name in names],
        "env": {"HOSTILE": {"input": "/v5"}},
        "gpus": 2,
        "resources": {"memory_mib": 64, "cpus": 0.5, "processes": 50},
        "user": {"uid": 1000},
        "read_only_root": True,
        **VOLUME,
    }
    lab.release(ALL_FIELDS, web_image("hello"), profile, inputs=fields, compatibility={"min_gpu_count": 2})
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("hostile", ALL_FIELDS, **dict(zip(names, HOSTILE, strict=True)))
        lab.succeeds(deploy)
        assert says(lab, "args").split("|END|")[:-1] == HOSTILE
        assert says(lab, "variable") == HOSTILE[5]
        facts = says(lab, "facts")
        assert (facts.split()[0], re.findall(r"nvidia\S+", facts)) == ("1000", ["nvidia0", "nvidia1"])
        assert "Read-only file system" in facts
        name = names_of(instance, lab.member(instance)).name
        over = lab.hosts[0].run(["podman", "exec", name, "sh", "-c", _ALLOCATE_128_MIB], check=False)
        assert over.returncode != 0
        assert str(128 << 20) not in over.stdout
        lab.torn_down(instance)


def test_a_container_that_crashes_is_told_with_its_log_and_without_secrets(lab: ContainerLab) -> None:
    answer = {"type": "object", "properties": {"answer": {"type": "string", "default": SECRET_ANSWER}}}
    profile = {"env": {"ANSWER": {"input": "/answer"}}}
    lab.release(CRASHING, web_image("never", CRASH), profile, inputs=answer)
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("crash", ONE)
        lab.succeeds(deploy)
        failed = lab.fails(lab.upgrade(instance, CRASHING), "crash_loop")
        assert failed.failure is not None
        assert "last with status 3" in failed.failure.message
        assert "given [hidden] no model" in failed.failure.message
        assert SECRET_ANSWER not in str(failed.steps)
        assert lab.member(instance).status == "failed"
        lab.verb(instance, "rollback")
        assert says(lab) == "hello"
        lab.torn_down(instance)
    assert engine_lists(lab.hosts[0]) == NOTHING


def shows(host: Host, value: str) -> str:
    """Where somebody can find the value: files that everybody may read, the journal, processes, the container's facts."""
    read_by_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "grep", "-rlsF", "--", value]
    found = host.run([*read_by_nobody, "/etc", "/run", "/var", "/tmp", "/home"], check=False).stdout
    others = [
        "journalctl --no-pager",
        "ps axww -o args",
        "podman ps --quiet | xargs podman inspect",
        "podman secret ls",
    ]
    return found + "".join(one for one in others if value in host.run(["sh", "-c", one]).stdout)


def test_a_container_reads_secrets_that_nothing_on_its_host_shows_and_a_rotation_restarts_it(lab: ContainerLab) -> None:
    [host, _] = lab.hosts
    declared = [{"key": "token", "source": "generated"}, {"key": "password", "source": "given"}]
    profile = {
        "env": {"PASSWORD": {"secret": "password"}},
        "secrets": [{"secret": "token", "path": "/run/secrets/token"}, {"secret": "password", "path": "/etc/password"}],
        "user": {"uid": 1000},
        "read_only_root": True,
    }
    lab.release(WITH_SECRETS, web_image("hello"), profile, secrets=declared)
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("secrets", WITH_SECRETS, secrets={"password": {"value": GIVEN_PASSWORD}})
        lab.succeeds(deploy)
        name = names_of(instance, lab.member(instance)).name

        def inside(path: str) -> str:
            return host.run(["podman", "exec", name, "cat", path]).stdout

        token = inside("/run/secrets/token")
        assert (inside("/etc/password"), len(token)) == (GIVEN_PASSWORD, 32)
        assert f"PASSWORD={GIVEN_PASSWORD}\0" in inside("/proc/1/environ")
        assert (shows(host, token), shows(host, GIVEN_PASSWORD)) == ("", "")
        overwrite = ["podman", "exec", "--user=0", name, "sh", "-c", "echo other > /etc/password"]
        assert host.run(overwrite, check=False).returncode != 0
        lab.verb(instance, "reconcile")
        assert inside("/run/secrets/token") == token
        rotation = lab.sandbox.admin.instances.rotate_secret(lab.project_id, instance, "token").operation
        assert rotation is not None
        lab.succeeds(rotation)
        assert inside("/run/secrets/token") not in ("", token)
        kept = host.run(["ls", f"/var/lib/gpuaas-containers/{name}/secrets"]).stdout.split()
        assert (len(kept), len(engine_lists(host)["secret"])) == (2, 1), "the value before is still there"
        lab.torn_down(instance)
    assert engine_lists(host) == NOTHING


# As the vendor's tool describes a host's GPUs, with one file of the driver.
CDI_FILE = "/etc/cdi/nvidia.yaml"
CDI = """\
---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
- name: "1"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  mounts:
  - hostPath: /etc/os-release
    containerPath: /opt/driver/libcuda.so.1
    options: [ro, nosuid, nodev, bind]
"""


def test_gpus_come_with_the_drivers_files_where_the_host_describes_them(lab: ContainerLab) -> None:
    [host, _] = lab.hosts
    lab.release(WITH_GPUS, web_image("hello"), {"gpus": 2}, compatibility={"min_gpu_count": 2})
    host.write_file(CDI_FILE, CDI)
    try:
        with at_work(Containers(), lab.controller()):
            instance, deploy = lab.launch("described", WITH_GPUS)
            lab.succeeds(deploy)
            name = names_of(instance, lab.member(instance)).name
            look = ["podman", "exec", name, "sh", "-c", "ls /dev /opt/driver; cat /proc/1/environ"]
            seen = host.run(look).stdout
            assert re.findall(r"^nvidia\S*|^libcuda\S*", seen, re.MULTILINE) == ["nvidia0", "nvidia1", "libcuda.so.1"]
            assert {"NVIDIA_VISIBLE_DEVICES=void", "CUDA_VISIBLE_DEVICES=0,1"} <= set(re.split(r"[\0\n]", seen))
            host.write_file(CDI_FILE, CDI.replace("0.5.0", "99.0.0"))
            lab.fails(lab.operate(instance, "restart"), "gpu_missing")
            host.run(["rm", CDI_FILE])
            lab.verb(instance, "restart")
            seen = host.run(look, check=False).stdout
            assert re.findall(r"^nvidia\S*|^libcuda\S*", seen, re.MULTILINE) == ["nvidia0", "nvidia1"]
            lab.torn_down(instance)
    finally:
        host.run(["rm", "-rf", "/etc/cdi"])


def test_what_the_host_lacks_is_told_before_anything_is_pulled(lab: ContainerLab) -> None:
    [host, _] = lab.hosts
    lab.release(MANY_GPUS, web_image("hello"), {"gpus": 8}, compatibility={"min_gpu_count": 8})
    with at_work(Containers(), lab.controller()):
        host.run(["mv", "/usr/bin/podman", "/usr/bin/podman.away"])
        try:
            instance, deploy = lab.launch("bare", ONE)
            lab.fails(deploy, "engine_missing")
            lab.torn_down(instance)
        finally:
            host.run(["mv", "/usr/bin/podman.away", "/usr/bin/podman"])
        host.run(["systemd-run", "--unit=squatter", "python3", "-m", "http.server", str(PORT)])
        host.run(["rm", "/dev/nvidia7"])
        try:
            instance, deploy = lab.launch("lacks", MANY_GPUS)
            taken = lab.fails(deploy, "port_taken")
            assert taken.failure is not None
            assert f"{PORT}/tcp" in taken.failure.message
            host.run(["systemctl", "stop", "squatter"])
            lab.fails(lab.operate(instance, "deploy"), "gpu_missing")
            assert engine_lists(host)["images"] == []
        finally:
            host.run(["systemctl", "stop", "squatter"], check=False)
            host.run(["mknod", "-m", "666", "/dev/nvidia7", "c", "195", "7"])
        lab.succeeds(lab.operate(instance, "deploy"))
        assert says(lab) == "hello"
        lab.torn_down(instance)


@pytest.mark.slow
async def test_every_step_may_be_interrupted_and_repeated(lab: ContainerLab) -> None:
    async with interrupting_replicas(Containers(), lab.controller()) as interruptions:
        instance, deploy = await to_thread(lab.launch, "repeat", ONE)
        await to_thread(lab.succeeds, deploy)
        assert interruptions.seen == ["check", "pull", "start"]
        await to_thread(lambda: lab.succeeds(lab.upgrade(instance, TWO)))
        assert says(lab) == "hello again"
        await to_thread(lab.torn_down, instance)
    assert engine_lists(lab.hosts[0]) == NOTHING


def test_a_host_that_ran_containers_is_released_with_a_proven_wipe(lab: ContainerLab) -> None:
    """It is the last one: the host is no longer a place of the lab."""
    admin, place = lab.sandbox.admin, lab.places[1]
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("wiped", ONE, place=1)
        lab.succeeds(deploy)
        lab.torn_down(instance)
    admin.allocations.release(lab.project_id, place)

    def released() -> str | None:
        state = admin.allocations.show(lab.project_id, place).state
        return state if state in ("released", "release_failed") else None

    state = admin.wait_for(released, 180, "the release to end")
    assert state == "released", admin.allocations.timeline(lab.project_id, place).wipe_evidence
