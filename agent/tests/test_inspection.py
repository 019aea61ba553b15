"""What an inspection finds in a target, and whose it takes a process for."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpuaas_agent.commands import Deadline
from gpuaas_agent.footprint import Footprint
from gpuaas_agent.host import app_processes, inspection, processes
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.host.inspection import Depth, Inspection, InspectionCheck, wire
from gpuaas_agent.host.mounts import Mount
from gpuaas_agent.host.processes import Process

ACCOUNTS = "root:x:0:0::/root:/bin/sh\ngpu:x:1000:1000::/home/gpu:/bin/sh\necho:x:991:991::/var/lib/echo:/bin/sh\n"


@dataclass
class SmallBaseline:
    paths: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=lambda: {"root"})
    endpoints: set[str] = field(default_factory=set)
    unit_names: set[str] = field(default_factory=set)

    def has_process(self, process: Process) -> bool:
        return process.pid < 100

    def has_port(self, endpoint: str) -> bool:
        return endpoint in self.endpoints

    def has_unit(self, unit: str) -> bool:
        return unit in self.unit_names

    def has_mount(self, mount: Mount) -> bool:
        return mount.point == "/"

    def has_path(self, path: str) -> bool:
        return path in self.paths

    def has_same_file(self, path: str) -> bool:
        return path in self.paths

    def has_user(self, name: str) -> bool:
        return name in self.users


@dataclass
class SmallTarget:
    """Files are real, below a folder; what runs is told."""

    root: Path
    baseline: SmallBaseline = field(default_factory=SmallBaseline)
    running: list[Process] = field(default_factory=list)
    endpoints: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    mounted: list[Mount] = field(default_factory=list)
    refused: list[tuple[int, int]] = field(default_factory=list)

    @property
    def files(self) -> ConfinedFiles:
        return ConfinedFiles(self.root)

    def processes(self) -> list[Process]:
        return self.running

    def ports(self) -> set[str]:
        return self.endpoints

    def units(self) -> set[str]:
        return self.loaded

    def mounts(self) -> list[Mount]:
        return self.mounted

    def revoked_serials(self) -> list[tuple[int, int]]:
        return self.refused

    def write(self, path: str, text: str = "x") -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


@pytest.fixture
def target(tmp_path: Path) -> SmallTarget:
    made = SmallTarget(tmp_path)
    made.write("/etc/passwd", ACCOUNTS)
    return made


def run_check(
    target: SmallTarget, name: str, footprint: Footprint, depth: Depth = "gone", serials: tuple[int, ...] = ()
) -> InspectionCheck:
    found = Inspection(target, footprint, depth, "ins_1", "gpu", serials).run_checks()
    return next(one for one in found if one.name == name)


def left(found: InspectionCheck) -> list[str]:
    return [one.item for one in found.found if not one.known]


def process(pid: int, **fields: object) -> Process:
    values: dict[str, object] = {
        "parent": 1,
        "kernel": False,
        "uid": 1000,
        "executable": "/usr/bin/other",
        "command": "other",
        "group": "/system.slice/other.service",
        "name": "other",
    }
    return Process(pid=pid, started=pid, **{**values, **fields})  # type: ignore[arg-type]


def test_a_unit_is_left_by_its_state_and_when_all_must_be_gone_by_its_file(target: SmallTarget) -> None:
    footprint = Footprint(units=("echo@*.service", "ssh.service"))
    target.loaded = {"echo@1.service", "ssh.service", "own.service"}
    target.baseline.unit_names = {"ssh.service"}
    target.write("/etc/systemd/system/echo@.service")
    target.write("/etc/systemd/system/multi-user.target.wants/echo@2.service")
    stopped = run_check(target, "units", footprint, "stopped")
    assert left(stopped) == ["echo@1.service is loaded"]
    assert stopped.not_in_footprint == ["own.service"]
    gone = left(run_check(target, "units", footprint))
    assert "/etc/systemd/system/echo@.service" in gone
    assert "/etc/systemd/system/multi-user.target.wants/echo@2.service" in gone


def test_a_path_that_was_there_before_is_known_and_what_is_new_in_it_is_left(target: SmallTarget) -> None:
    for path in ("/opt/echo/bin", "/srv/shared/old", "/srv/shared/new", "/run/echo-1.sock"):
        target.write(path)
    target.baseline.paths = {"/srv/shared", "/srv/shared/old"}
    found = run_check(target, "paths", Footprint(paths=("/opt/echo", "/srv/shared", "/run/echo-*.sock", "/none")))
    assert left(found) == ["/opt/echo", "/srv/shared/new", "/run/echo-1.sock"]


def test_a_link_in_the_place_of_a_path_is_left_and_not_followed(target: SmallTarget) -> None:
    (target.root / "opt").mkdir()
    (target.root / "opt/echo").symlink_to("/none")
    assert left(run_check(target, "paths", Footprint(paths=("/opt/echo",)))) == ["/opt/echo"]


def test_an_account_of_the_app_is_left_with_its_keys_while_the_tenants_are_only_noted(target: SmallTarget) -> None:
    footprint = Footprint(users=("echo", "root", "gpu"))
    target.write("/var/lib/echo/.ssh/authorized_keys")
    target.write("/home/gpu/.ssh/authorized_keys")
    assert left(run_check(target, "users", footprint)) == ["echo (/var/lib/echo)"]
    keys = run_check(target, "authorized_keys", footprint)
    assert left(keys) == ["/var/lib/echo/.ssh/authorized_keys"]
    assert keys.not_in_footprint == ["/home/gpu/.ssh/authorized_keys"]


def test_a_new_cron_table_is_left_when_it_is_named_or_mentions_the_app(target: SmallTarget) -> None:
    target.write("/etc/cron.d/echo", "* * * * * root true\n")
    target.write("/etc/cron.hourly/sneaky", "#!/bin/sh\n/opt/echo/bin/again --password hunter2\n")
    target.write("/var/spool/cron/crontabs/echo", "* * * * * true\n")
    target.write("/etc/cron.d/own", "* * * * * root true\n")
    found = run_check(target, "cron", Footprint(cron=("echo",), paths=("/opt/echo",), users=("echo",)), "stopped")
    assert left(found) == ["/etc/cron.d/echo", "/etc/cron.hourly/sneaky", "/var/spool/cron/crontabs/echo"]
    assert found.not_in_footprint == ["/etc/cron.d/own"]
    assert "hunter2" not in json.dumps(wire([found], 1))


def test_a_port_is_left_by_number_and_protocol(target: SmallTarget) -> None:
    target.endpoints = {"tcp 0.0.0.0:7777", "udp [::]:7777", "tcp 0.0.0.0:22", "tcp 127.0.0.1:9999"}
    target.baseline.endpoints = {"tcp 0.0.0.0:22"}
    found = run_check(target, "ports", Footprint(ports=("7777/tcp", "22/tcp")))
    assert left(found) == ["tcp 0.0.0.0:7777"]
    assert found.not_in_footprint == ["tcp 127.0.0.1:9999", "udp [::]:7777"]


def test_a_mount_is_left_when_it_is_named_or_lies_in_a_path_of_the_app(target: SmallTarget) -> None:
    target.mounted = [
        Mount(point, "/", "tmpfs", "t", False) for point in ("/", "/mnt/echo/a", "/opt/echo/b", "/mnt/own")
    ]
    found = run_check(target, "mounts", Footprint(mounts=("/mnt/echo",), paths=("/opt/echo",)))
    assert left(found) == ["/mnt/echo/a", "/opt/echo/b"]
    assert found.not_in_footprint == ["/mnt/own"]


def test_a_stopped_container_may_stay_when_an_app_only_stops(target: SmallTarget) -> None:
    records = [{"id": "aa11", "names": ["echo-1"]}, {"id": "bb22", "names": ["echo-2"]}]
    target.write("/var/lib/containers/storage/overlay-containers/containers.json", json.dumps(records))
    target.write("/var/lib/docker/containers/cc33/config.v2.json", json.dumps({"Name": "/echo-3"}))
    target.running = [process(200, group="/machine.slice/libpod-bb22.scope")]
    footprint = Footprint(containers=("echo-*",))
    assert left(run_check(target, "containers", footprint, "stopped")) == ["echo-2 (running)"]
    assert len(left(run_check(target, "containers", footprint))) == 3


def test_an_image_that_is_named_as_the_apps_containers_may_stay_only_while_the_app_stops(target: SmallTarget) -> None:
    names = [["localhost/echo-1:5f16", "registry.example.test/web@sha256:5f16"], ["example.test/echo-2:1"], None]
    records = json.dumps([{"id": "aa11", "names": one} for one in names])
    target.write("/var/lib/containers/storage/overlay-images/images.json", records)
    footprint = Footprint(containers=("echo-*",))
    assert left(run_check(target, "containers", footprint, "stopped")) == []
    assert left(run_check(target, "containers", footprint)) == ["image localhost/echo-1:5f16"]


def test_a_certificate_that_is_not_on_the_revocation_list_is_left(target: SmallTarget) -> None:
    target.refused = [(5, 7)]
    assert left(run_check(target, "credentials", Footprint(), "stopped", (5, 7, 9))) == ["certificate 9 still opens"]


def test_a_check_that_cannot_look_says_so_and_the_others_go_on(target: SmallTarget) -> None:
    (target.root / "etc/passwd").unlink()
    os.mkfifo(target.root / "etc/passwd")
    checks = Inspection(target, Footprint(users=("echo",)), "gone", "ins_1", "gpu").run_checks()
    problems = {one.name for one in checks if one.problem}
    assert problems == {"processes", "containers", "users", "authorized_keys"}
    assert not any(one.settled for one in checks if one.problem)


def test_whose_a_process_is(target: SmallTarget) -> None:
    target.baseline.users = {"root"}
    target.running = [
        process(200, executable="/usr/bin/echo-server"),
        process(201, parent=200),
        process(202, parent=201),
        process(203, uid=991),
        process(204, executable="/opt/echo/bin/tool"),
        process(205, executable="/usr/bin/python3.11", command="python3 /opt/echo/worker.py --token hunter2"),
        process(206, group="/system.slice/echo.service/job-1"),
        process(207, executable="/usr/bin/vim", command="vim /opt/echo/notes"),
        process(208, name="echo-long-daemo", executable=""),
        process(50, executable="/usr/bin/echo-server"),
    ]
    footprint = Footprint(
        units=("echo.service",),
        processes=("echo-server", "echo-long-daemon"),
        paths=("/opt/echo",),
        users=("echo", "root"),
    )
    found = run_check(target, "processes", footprint, "stopped")
    assert [int(one.split()[1]) for one in left(found)] == [200, 201, 202, 203, 204, 205, 206, 208]
    assert [one.item.split()[1] for one in found.found if one.known] == ["50"]
    assert [one.split()[1] for one in found.not_in_footprint] == ["207"]
    assert "hunter2" not in json.dumps(wire([found], 1))


@pytest.fixture
def orphan() -> Iterator[int]:
    """A job's child whose parent is gone: nothing but its environment says whose it is."""
    script = "setsid sleep 300 >/dev/null 2>&1 & echo $!"
    environment = {**os.environ, app_processes.MARK: "ins_1"}
    made = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    pid = int(made.stdout)
    yield pid
    os.kill(pid, 9)


def test_an_orphaned_child_is_known_by_the_mark_that_it_inherited(target: SmallTarget, orphan: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        target.running = [one for one in processes.snapshot() if one.pid == orphan]
        found = run_check(target, "processes", Footprint(), "stopped")
        if found.found or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    assert [one.why for one in found.found] == ["carries the instance's mark"]
    assert app_processes.find_app_processes(target.running, Footprint(), frozenset(), "ins_2") == {}


def test_a_process_that_needs_a_moment_to_end_is_waited_for(target: SmallTarget) -> None:
    dying = subprocess.Popen(["sleep", "0.6"])

    @dataclass
    class RealProcesses(SmallTarget):
        def processes(self) -> list[Process]:
            dying.poll()
            return [one for one in processes.snapshot() if one.pid == dying.pid]

    real = RealProcesses(target.root)
    checks, times = Inspection(real, Footprint(processes=("sleep",)), "stopped", "ins_1", "gpu").run_until_settled(
        Deadline.after(10)
    )
    assert times > 1
    assert all(one.settled for one in checks)


def test_evidence_is_bounded_and_never_hides_what_counts(target: SmallTarget) -> None:
    target.running = [process(pid, executable="/usr/bin/echo-server" + "x" * 400) for pid in range(1, 400)]
    found = run_check(target, "processes", Footprint(processes=("echo-server*",)), "stopped")
    told = wire([found], 1)["checks"][0]  # type: ignore[index]
    assert told["left"] == 300
    assert len(told["found"]) == 20
    assert not any(one["known"] for one in told["found"])
    assert all(len(one["item"]) <= 200 for one in told["found"])


def test_a_name_that_would_play_with_a_terminal_is_told_in_plain_text(target: SmallTarget) -> None:
    (target.root / "etc/cron.d").mkdir()
    (target.root / b"etc/cron.d/echo\x1b]0;owned\x07\xff".decode(errors="surrogateescape")).write_text("x")
    told = wire([run_check(target, "cron", Footprint(cron=("echo*",)))], 1)
    text = json.dumps(told, ensure_ascii=False)
    text.encode()  # no lone surrogate
    assert "echo?]0;owned??" in text


def test_an_old_folder_that_is_too_large_to_walk_is_not_called_clean(
    target: SmallTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "_MOST_WALKED", 10)
    names = [f"/srv/shared/{number}" for number in range(20)]
    for name in names:
        target.write(name)
    target.baseline.paths = {"/srv/shared", *names}
    found = run_check(target, "paths", Footprint(paths=("/srv/shared",)))
    assert "too many entries" in found.problem
    assert not found.settled
