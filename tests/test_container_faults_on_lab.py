"""Containers and faults on real hosts: images made to harm, a full disk, controllers killed, a host without power."""

import io
import re
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gpuaas_containers.controller import Containers
from gpuaas_lab import CONTAINER_ENGINE, Host
from gpuaas_lab.container_image import ContainerImage, build_image_of_layer
from gpuaas_sdk import NewMemberOperation, Operation, ReplaceTarget
from gpuaas_sdk.controller import ImagePull, PublishedArtifact
from gpuaas_sdk.testing import CRASH_POINTS, crashing_replica
from system_support.container_lab import NOTHING, ContainerLab, container_lab, engine_lists, names_of, says, web_image
from system_support.echo_lab import Do, at_work
from system_support.victims import Victims
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
ONE, TWO, SLOW, HUGE, CROWDED, ESCAPING = "1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0", "6.0.0"
STALLED = "7.0.0"
PLACE = "gpuaas_containers.controller:Containers"
STORAGE = "/var/lib/containers"
ESCAPED, SUID = "gpuaas-escaped", "gpuaas-suid"
SERVE = ["/bin/sh", "-c", "exec httpd -f -p 80 -h /www"]


@pytest.fixture(scope="module")
def whole_lab() -> Iterator[ContainerLab]:
    part("docker-registry")
    with container_lab("faults", hosts=2, operation_lease_seconds="20") as made:
        made.release(ONE, web_image("hello"), {"volumes": [{"name": "data", "path": "/data"}]})
        made.release(TWO, web_image("hello again"), {"volumes": [{"name": "data", "path": "/data"}]})
        yield made


@pytest.fixture
def lab(whole_lab: ContainerLab) -> Iterator[ContainerLab]:
    yield whole_lab
    whole_lab.clear()


def hostile_image(*entries: tuple[tarfile.TarInfo, bytes]) -> ContainerImage:
    """A web server's image, with these entries after its own."""
    stream, program = io.BytesIO(), (CONTAINER_ENGINE.path / "usr/bin/busybox").read_bytes()
    own = [
        (entry("bin/busybox", mode=0o755), program),
        (entry("www/greeting"), b"hello"),
        *((entry(f"bin/{name}", to="busybox"), b"") for name in ("sh", "httpd", "cat")),
    ]
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for header, content in (*own, *entries):
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
    return build_image_of_layer(stream.getvalue(), SERVE)


def entry(path: str, *, mode: int = 0o644, to: str | None = None) -> tarfile.TarInfo:
    header = tarfile.TarInfo(path)
    header.mode = mode
    if to is not None:
        header.type, header.linkname = tarfile.SYMTYPE, to
    return header


HUGE_FILE = [(entry("huge"), bytes(192 << 20))]
MANY_FILES = [(entry(f"many/{number}"), b"") for number in range(6000)]


@pytest.mark.parametrize(
    ("version", "disk", "entries", "why"),
    [
        (HUGE, "size=96m", HUGE_FILE, "too large for the disk|no space left"),
        (CROWDED, "size=96m,nr_inodes=4000", MANY_FILES, "too many files for the disk|no space left"),
    ],
    ids=["huge", "crowded"],
)
def test_an_image_that_unpacks_to_more_than_the_disk_holds_is_refused_and_leaves_nothing(
    lab: ContainerLab, version: str, disk: str, entries: list[tuple[tarfile.TarInfo, bytes]], why: str
) -> None:
    host = lab.hosts[0]
    image = hostile_image(*entries)
    assert sum(map(len, image.blobs)) < 4 << 20, "it is small where the registry keeps it"
    lab.release(version, image)
    with at_work(Containers(), lab.controller()), small_storage(host, disk):
        instance, deploy = lab.launch(f"fills-{version[0]}", version)
        refused = lab.fails(deploy, "disk_full")
        assert refused.failure is not None
        assert re.search(why, refused.failure.message), refused.failure.message
        assert engine_lists(host) == NOTHING
        assert used_mib(host) < 8, "a part of the image is left"
        lab.torn_down(instance)
        instance, deploy = lab.launch("fits", ONE)
        lab.succeeds(deploy)
        lab.torn_down(instance)


@contextmanager
def small_storage(host: Host, options: str) -> Iterator[None]:
    """The engine's storage is on a small disk of its own meanwhile."""
    host.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", STORAGE])
    try:
        yield
    finally:
        host.run(["sh", "-c", f"umount --lazy {STORAGE}/storage/overlay; umount --lazy {STORAGE}"], check=False)


def used_mib(host: Host) -> int:
    return int(host.run(["df", "--block-size=1M", "--output=used", STORAGE]).stdout.split()[-1])


def test_an_image_whose_links_and_paths_lead_out_changes_nothing_of_the_host(lab: ContainerLab) -> None:
    host = lab.hosts[0]
    program = (CONTAINER_ENGINE.path / "usr/bin/busybox").read_bytes()
    lab.release(
        ESCAPING,
        hostile_image(
            (entry("up", to="../../../../../../../.."), b""),
            (entry(f"up/etc/{ESCAPED}"), b"escaped"),
            (entry("root", to="/"), b""),
            (entry(f"root/etc/{ESCAPED}-too"), b"escaped"),
            (entry(f"../../../../../../etc/{ESCAPED}-again"), b"escaped"),
            (entry("data", to="/../../../../../../tmp"), b""),
            (entry(f"bin/{SUID}", mode=0o4755), program),
        ),
        {"volumes": [{"name": "data", "path": "/data"}], "user": {"uid": 1000}},
    )
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("escapes", ESCAPING)
        lab.succeeds(deploy)
        assert host.run(["sh", "-c", f"ls -d /etc/{ESCAPED}* /{ESCAPED}* /tmp/{ESCAPED}*"], check=False).stdout == ""
        name = names_of(instance, lab.member(instance)).name
        status = host.run(["podman", "exec", name, "cat", "/proc/1/status"]).stdout
        assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE), "a file of root's could raise its rights"
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        reach = ["find", "/var/lib", "/run", "/tmp", "-perm", "-4000", "-name", SUID]
        assert host.run(reach, check=False).stdout != ""
        assert host.run([*nobody, *reach], check=False).stdout == "", "users of the host can run a program of the image"
        lab.torn_down(instance)
    assert engine_lists(host) == NOTHING


def verbs_of_an_instance(lab: ContainerLab, name: str, see: Do | None = None) -> list[Operation]:
    """Request each verb of an instance and look at what it did. `see` waits for an operation's end. Returns the operations."""
    host, done = lab.hosts[0], list[Operation]()

    def then(operation: Operation) -> None:
        done.append((see or lab.succeeds)(operation))
        assert done[-1].status == "succeeded", (done[-1].kind, done[-1].failure, done[-1].steps)

    instance, deploy = lab.launch(name, ONE)
    then(deploy)
    assert says(lab) == "hello"
    then(lab.operate(instance, "reconcile"))
    then(lab.operate(instance, "restart"))
    then(lab.upgrade(instance, TWO))
    assert says(lab) == "hello again"
    then(lab.operate(instance, "rollback"))
    assert (says(lab), len(engine_lists(host)["images"])) == ("hello", 1)
    then(lab.operate(instance, "stop"))
    assert (says(lab), engine_lists(host)["ps"]) == ("", [])
    then(lab.operate(instance, "start"))
    assert says(lab) == "hello"
    then(lab.operate(instance, "decommission"))
    lab.check_gone(done[-1])
    assert engine_lists(host) == NOTHING
    return done


def test_every_verb_does_what_it_says_with_its_controller_killed_before_it_reports_the_end(
    lab: ContainerLab, tmp_path: Path
) -> None:
    with crashing_replica(PLACE, lab.controller("one"), tmp_path, at=["ending"]) as replica:
        done = verbs_of_an_instance(lab, "dies")
        assert [one.kind for one in replica.crashes] == [one.kind for one in done]
    assert {one.attempt for one in done} == {2}


@pytest.mark.slow
@pytest.mark.parametrize("point", [one for one in CRASH_POINTS if one != "ending"])
def test_every_verb_does_what_it_says_with_its_controller_killed_at_every_other_moment(
    lab: ContainerLab, tmp_path: Path, point: str
) -> None:
    with crashing_replica(PLACE, lab.controller("one"), tmp_path, at=[point]) as replica:
        done = verbs_of_an_instance(lab, f"dies-{point.replace('_', '-')}")
        assert {one.kind for one in replica.crashes} == {one.kind for one in done}


def test_whatever_is_killed_in_each_verb_changes_nothing_but_the_time(lab: ContainerLab) -> None:
    victims = Victims(lab, ["worker", "agent"], once=True)
    with at_work(Containers(), lab.controller()):
        done = verbs_of_an_instance(lab, "victims", victims.see)
    assert [kind for kind, _ in victims.kills] == [one.kind for one in done]


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker", "agent"])
def test_whatever_is_killed_at_each_change_of_each_verb_changes_nothing_but_the_time(
    lab: ContainerLab, victim: str
) -> None:
    victims = Victims(lab, [victim], once=False)
    with at_work(Containers(), lab.controller()):
        done = verbs_of_an_instance(lab, f"each-{victim}", victims.see)
    assert {kind for kind, _ in victims.kills} == {one.kind for one in done}


def verbs_of_members(lab: ContainerLab, name: str) -> list[Operation]:
    """Request each verb of members and look at what it did. Returns the operations, without launch and decommission."""
    first, second = lab.hosts
    instance, deploy = lab.launch(name, ONE)
    lab.succeeds(deploy)
    done = [change(lab, instance, "add", component_key="web", allocation_ids=[lab.places[1]])]
    assert (says(lab), says(lab, place=1)) == ("hello", "hello")
    members = lab.sandbox.admin.instances.members(lab.project_id, instance)
    [added] = [one for one in members if one.allocation_id == lab.places[1]]
    done.append(change(lab, instance, "drain", targets=[added.id]))
    assert (says(lab, place=1), engine_lists(second)["ps"]) == ("", [])
    done.append(change(lab, instance, "recover", targets=[added.id]))
    assert says(lab, place=1) == "hello"
    done.append(change(lab, instance, "remove", targets=[added.id]))
    assert engine_lists(second) == NOTHING
    moved = ReplaceTarget(member_id=lab.member(instance).id, allocation_id=lab.places[1])
    done.append(change(lab, instance, "replace", replacements=[moved]))
    assert (says(lab), says(lab, place=1), engine_lists(first)) == ("", "hello", NOTHING)
    lab.torn_down(instance)
    assert engine_lists(second) == NOTHING
    return done


def change(lab: ContainerLab, instance: str, kind: str, **more: object) -> Operation:
    return lab.succeeds(lab.change_members(instance, NewMemberOperation(kind=kind, **more)))  # type: ignore[arg-type]


def test_every_verb_of_members_does_what_it_says_with_its_controller_killed_before_it_reports_the_end(
    lab: ContainerLab, tmp_path: Path
) -> None:
    with crashing_replica(PLACE, lab.controller("one"), tmp_path, at=["ending"]) as replica:
        done = verbs_of_members(lab, "members-die")
        assert {one.kind for one in done} <= {one.kind for one in replica.crashes}


@pytest.mark.slow
@pytest.mark.parametrize("point", [one for one in CRASH_POINTS if one != "ending"])
def test_every_verb_of_members_does_what_it_says_with_its_controller_killed_at_every_other_moment(
    lab: ContainerLab, tmp_path: Path, point: str
) -> None:
    with crashing_replica(PLACE, lab.controller("one"), tmp_path, at=[point]) as replica:
        done = verbs_of_members(lab, f"members-die-{point.replace('_', '-')}")
        assert {one.kind for one in done} <= {one.kind for one in replica.crashes}


def test_a_host_that_loses_its_power_during_a_launch_gives_an_outcome_and_the_next_attempt_works(
    lab: ContainerLab,
) -> None:
    host = lab.hosts[0]
    slow_start = web_image("hello", "sleep 4; exec httpd -f -p 80 -h /www")
    declared = [{"key": "token", "source": "generated"}]
    profile = {"start_timeout_seconds": 60, "secrets": [{"secret": "token", "path": "/run/secrets/token"}]}
    lab.release(SLOW, slow_start, profile, secrets=declared)
    admin, project = lab.sandbox.admin, lab.project_id
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("cut", SLOW)

        def starts() -> bool:
            steps = {one.name: one.status for one in admin.operations.show(project, deploy.id).steps}
            return steps.get("start") == "running"

        admin.wait_for(starts, 60, "the container to be started")
        host.power_cut()
        host.power_on()
        host.wait_ssh()
        ended = lab.ended(deploy)
        assert (ended.status, ended.failure and ended.failure.code) == ("failed", "host_unreachable"), ended
        lab.succeeds(lab.operate(instance, "deploy"))
        assert says(lab) == "hello"
        name = names_of(instance, lab.member(instance)).name
        token = host.run(["podman", "exec", name, "cat", "/run/secrets/token"]).stdout
        host.power_cut()
        host.power_on()
        host.wait_ssh()
        deadline = time.monotonic() + 60
        while says(lab) != "hello":
            assert time.monotonic() < deadline, "the container does not start with its host"
            time.sleep(0.2)
        assert host.run(["podman", "exec", name, "cat", "/run/secrets/token"]).stdout == token != ""
        lab.torn_down(instance)
    assert engine_lists(host) == NOTHING


class PowerCut:
    """A step hook that cuts the host's power once: after the work of this step, and before its report."""

    def __init__(self, host: Host, step: str) -> None:
        self._host, self._step = host, step
        self.done = threading.Event()

    def __call__(self, step: str) -> None:
        if step == self._step and not self.done.is_set():
            self._host.power_cut()
            self.done.set()


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        pytest.param("deploy", "check", marks=pytest.mark.slow),
        ("deploy", "pull"),
        pytest.param("deploy", "start", marks=pytest.mark.slow),
        pytest.param("decommission", "stop", marks=pytest.mark.slow),
        ("decommission", "remove"),
    ],
)
def test_a_host_that_loses_its_power_after_any_step_gives_an_outcome_and_the_next_attempt_leaves_nothing_behind(
    lab: ContainerLab, kind: str, step: str
) -> None:
    host = lab.hosts[0]
    cut = PowerCut(host, step)
    with at_work(Containers(), lab.controller(), cut):
        instance, operation = lab.launch(f"cut-after-{step}", ONE)
        if kind == "decommission":
            lab.succeeds(operation)
            operation = lab.operate(instance, "decommission")
        try:
            assert cut.done.wait(120)
        finally:
            host.power_on()
            host.wait_ssh()
        ended = lab.ended(operation)
        if ended.status != "succeeded":
            assert ended.failure is not None, ended
            assert ended.failure.code in ("host_unreachable", "readiness_timeout"), (ended.failure, ended.steps)
            ended = lab.verb(instance, kind)
        if kind == "deploy":
            lab.sandbox.admin.wait_for(lambda: says(lab) == "hello", 60, "the container to answer")
            ended = lab.verb(instance, "decommission")
        lab.check_gone(ended)
    assert engine_lists(host) == NOTHING


def test_a_pull_that_is_denied_or_gets_another_image_is_told_apart(
    lab: ContainerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = PublishedArtifact.image_pull
    changes: dict[str, object] = {}

    async def changed(artifact: PublishedArtifact) -> ImagePull:
        return replace(await real(artifact), **changes)  # type: ignore[arg-type]

    monkeypatch.setattr(PublishedArtifact, "image_pull", changed)
    host = lab.hosts[0]
    with at_work(Containers(), lab.controller()):
        changes["password"] = "not-the-password"
        instance, deploy = lab.launch("denied", ONE)
        denied = lab.fails(deploy, "image_denied")
        assert "not-the-password" not in str(denied)
        changes.clear()
        changes["trust"] = ()
        assert "x509" in str(lab.fails(lab.operate(instance, "deploy"), "image_pull_failed").failure)
        changes.clear()
        changes["digest"] = f"sha256:{'0' * 64}"
        lab.fails(lab.operate(instance, "deploy"), "image_digest_mismatch")
        changes.clear()
        host.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/var/lib/containers"])
        try:
            lab.fails(lab.operate(instance, "deploy"), "disk_full")
        finally:
            host.run(["umount", "--lazy", "/var/lib/containers"])
        lab.succeeds(lab.operate(instance, "deploy"))
        lab.torn_down(instance)
        _stalls(lab, changes)
    assert engine_lists(host) == NOTHING


def _stalls(lab: ContainerLab, changes: dict[str, object]) -> None:
    """A registry that takes connections and never answers holds the host until the start's own deadline, and then nothing."""
    with socket.socket(type=socket.SOCK_DGRAM) as to_host:
        to_host.connect((lab.hosts[0].address, 9))
        own_address = to_host.getsockname()[0]
    lab.release(STALLED, web_image("hello"), {"start_timeout_seconds": 30})
    with socket.create_server((own_address, 0)) as listener:
        registry = f"{own_address}:{listener.getsockname()[1]}"
        instance, deploy = lab.launch("stalled", STALLED)
        reference = f"{registry}/web@{lab.instance(instance).digest}"
        changes |= {"registry": registry, "reference": reference, "tls": False, "trust": ()}
        failed = lab.fails(deploy, "container_start_timeout")
        assert failed.failure is not None
        assert ("was not checked and pulled in" in failed.failure.message, failed.failure.retryable) == (True, True)
        assert lab.hosts[0].run(["pgrep", "-f", "podman pull"], check=False).stdout == ""
    changes.clear()
    lab.succeeds(lab.operate(instance, "deploy"))
    lab.torn_down(instance)
