"""What an inspection finds in a place, and whose it takes a process for."""

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
from gpuaas_agent.host.inspection import Depth, Inspection, Look, wire
from gpuaas_agent.host.mounts import Mount
from gpuaas_agent.host.processes import Process
from gpuaas_agent.host.rooted import RootedFiles

ACCOUNTS = "root:x:0:0::/root:/bin/sh\ngpu:x:1000:1000::/home/gpu:/bin/sh\necho:x:991:991::/var/lib/echo:/bin/sh\n"


@dataclass
class Remembered:
    paths: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=lambda: {"root"})
    endpoints: set[str] = field(default_factory=set)
    unit_names: set[str] = field(default_factory=set)

    def process(self, process: Process) -> bool:
        return process.pid < 100

    def port(self, endpoint: str) -> bool:
        return endpoint in self.endpoints

    def unit(self, unit: str) -> bool:
        return unit in self.unit_names

    def mount(self, mount: Mount) -> bool:
        return mount.point == "/"

    def path(self, path: str) -> bool:
        return path in self.paths

    def same_file(self, path: str) -> bool:
        return path in self.paths

    def user(self, name: str) -> bool:
        return name in self.users


@dataclass
class SmallPlace:
    """Files are real, below a folder; what runs is told."""

    root: Path
    before: Remembered = field(default_factory=Remembered)
    running: list[Process] = field(default_factory=list)
    endpoints: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    mounted: list[Mount] = field(default_factory=list)
    refused: list[tuple[int, int]] = field(default_factory=list)

    @property
    def files(self) -> RootedFiles:
        return RootedFiles(self.root)

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
def place(tmp_path: Path) -> SmallPlace:
    made = SmallPlace(tmp_path)
    made.write("/etc/passwd", ACCOUNTS)
    return made


def look(
    place: SmallPlace, name: str, footprint: Footprint, depth: Depth = "gone", serials: tuple[int, ...] = ()
) -> Look:
    found = Inspection(place, footprint, depth, "ins_1", "gpu", serials).looks()
    return next(one for one in found if one.name == name)


def left(found: Look) -> list[str]:
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


def test_a_unit_is_left_by_its_state_and_when_all_must_be_gone_by_its_file(place: SmallPlace) -> None:
    footprint = Footprint(units=("echo@*.service", "ssh.service"))
    place.loaded = {"echo@1.service", "ssh.service", "own.service"}
    place.before.unit_names = {"ssh.service"}
    place.write("/etc/systemd/system/echo@.service")
    place.write("/etc/systemd/system/multi-user.target.wants/echo@2.service")
    stopped = look(place, "units", footprint, "stopped")
    assert left(stopped) == ["echo@1.service is loaded"]
    assert stopped.noted == ["own.service"]
    gone = left(look(place, "units", footprint))
    assert "/etc/systemd/system/echo@.service" in gone
    assert "/etc/systemd/system/multi-user.target.wants/echo@2.service" in gone


def test_a_path_that_was_there_before_is_known_and_what_is_new_in_it_is_left(place: SmallPlace) -> None:
    for path in ("/opt/echo/bin", "/srv/shared/old", "/srv/shared/new", "/run/echo-1.sock"):
        place.write(path)
    place.before.paths = {"/srv/shared", "/srv/shared/old"}
    found = look(place, "paths", Footprint(paths=("/opt/echo", "/srv/shared", "/run/echo-*.sock", "/none")))
    assert left(found) == ["/opt/echo", "/srv/shared/new", "/run/echo-1.sock"]


def test_a_link_in_the_place_of_a_path_is_left_and_not_followed(place: SmallPlace) -> None:
    (place.root / "opt").mkdir()
    (place.root / "opt/echo").symlink_to("/none")
    assert left(look(place, "paths", Footprint(paths=("/opt/echo",)))) == ["/opt/echo"]


def test_an_account_of_the_app_is_left_with_its_keys_while_the_tenants_are_only_noted(place: SmallPlace) -> None:
    footprint = Footprint(users=("echo", "root", "gpu"))
    place.write("/var/lib/echo/.ssh/authorized_keys")
    place.write("/home/gpu/.ssh/authorized_keys")
    assert left(look(place, "users", footprint)) == ["echo (/var/lib/echo)"]
    keys = look(place, "authorized_keys", footprint)
    assert left(keys) == ["/var/lib/echo/.ssh/authorized_keys"]
    assert keys.noted == ["/home/gpu/.ssh/authorized_keys"]


def test_a_new_cron_table_is_left_when_it_is_named_or_mentions_the_app(place: SmallPlace) -> None:
    place.write("/etc/cron.d/echo", "* * * * * root true\n")
    place.write("/etc/cron.hourly/sneaky", "#!/bin/sh\n/opt/echo/bin/again --password hunter2\n")
    place.write("/var/spool/cron/crontabs/echo", "* * * * * true\n")
    place.write("/etc/cron.d/own", "* * * * * root true\n")
    found = look(place, "cron", Footprint(cron=("echo",), paths=("/opt/echo",), users=("echo",)), "stopped")
    assert left(found) == ["/etc/cron.d/echo", "/etc/cron.hourly/sneaky", "/var/spool/cron/crontabs/echo"]
    assert found.noted == ["/etc/cron.d/own"]
    assert "hunter2" not in json.dumps(wire([found], 1))


def test_a_port_is_left_by_number_and_protocol(place: SmallPlace) -> None:
    place.endpoints = {"tcp 0.0.0.0:7777", "udp [::]:7777", "tcp 0.0.0.0:22", "tcp 127.0.0.1:9999"}
    place.before.endpoints = {"tcp 0.0.0.0:22"}
    found = look(place, "ports", Footprint(ports=("7777/tcp", "22/tcp")))
    assert left(found) == ["tcp 0.0.0.0:7777"]
    assert found.noted == ["tcp 127.0.0.1:9999", "udp [::]:7777"]


def test_a_mount_is_left_when_it_is_named_or_lies_in_a_path_of_the_app(place: SmallPlace) -> None:
    place.mounted = [
        Mount(point, "/", "tmpfs", "t", False) for point in ("/", "/mnt/echo/a", "/opt/echo/b", "/mnt/own")
    ]
    found = look(place, "mounts", Footprint(mounts=("/mnt/echo",), paths=("/opt/echo",)))
    assert left(found) == ["/mnt/echo/a", "/opt/echo/b"]
    assert found.noted == ["/mnt/own"]


def test_a_stopped_container_may_stay_when_an_app_only_stops(place: SmallPlace) -> None:
    records = [{"id": "aa11", "names": ["echo-1"]}, {"id": "bb22", "names": ["echo-2"]}]
    place.write("/var/lib/containers/storage/overlay-containers/containers.json", json.dumps(records))
    place.write("/var/lib/docker/containers/cc33/config.v2.json", json.dumps({"Name": "/echo-3"}))
    place.running = [process(200, group="/machine.slice/libpod-bb22.scope")]
    footprint = Footprint(containers=("echo-*",))
    assert left(look(place, "containers", footprint, "stopped")) == ["echo-2 (running)"]
    assert len(left(look(place, "containers", footprint))) == 3


def test_a_certificate_that_is_not_on_the_revocation_list_is_left(place: SmallPlace) -> None:
    place.refused = [(5, 7)]
    assert left(look(place, "credentials", Footprint(), "stopped", (5, 7, 9))) == ["certificate 9 still opens"]


def test_a_check_that_cannot_look_says_so_and_the_others_go_on(place: SmallPlace) -> None:
    (place.root / "etc/passwd").unlink()
    os.mkfifo(place.root / "etc/passwd")
    looks = Inspection(place, Footprint(users=("echo",)), "gone", "ins_1", "gpu").looks()
    problems = {one.name for one in looks if one.problem}
    assert problems == {"processes", "containers", "users", "authorized_keys"}
    assert not any(one.settled for one in looks if one.problem)


def test_whose_a_process_is(place: SmallPlace) -> None:
    place.before.users = {"root"}
    place.running = [
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
    found = look(place, "processes", footprint, "stopped")
    assert [int(one.split()[1]) for one in left(found)] == [200, 201, 202, 203, 204, 205, 206, 208]
    assert [one.item.split()[1] for one in found.found if one.known] == ["50"]
    assert [one.split()[1] for one in found.noted] == ["207"]
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


def test_an_orphaned_child_is_known_by_the_mark_that_it_inherited(place: SmallPlace, orphan: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        place.running = [one for one in processes.snapshot() if one.pid == orphan]
        found = look(place, "processes", Footprint(), "stopped")
        if found.found or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    assert [one.why for one in found.found] == ["carries the instance's mark"]
    assert app_processes.belonging(place.running, Footprint(), frozenset(), "ins_2") == {}


def test_a_process_that_needs_a_moment_to_end_is_waited_for(place: SmallPlace) -> None:
    dying = subprocess.Popen(["sleep", "0.6"])

    @dataclass
    class Living(SmallPlace):
        def processes(self) -> list[Process]:
            dying.poll()
            return [one for one in processes.snapshot() if one.pid == dying.pid]

    living = Living(place.root)
    looks, times = Inspection(living, Footprint(processes=("sleep",)), "stopped", "ins_1", "gpu").until_settled(
        Deadline.after(10)
    )
    assert times > 1
    assert all(one.settled for one in looks)


def test_evidence_is_bounded_and_never_hides_what_counts(place: SmallPlace) -> None:
    place.running = [process(pid, executable="/usr/bin/echo-server" + "x" * 400) for pid in range(1, 400)]
    found = look(place, "processes", Footprint(processes=("echo-server*",)), "stopped")
    told = wire([found], 1)["checks"][0]  # type: ignore[index]
    assert told["left"] == 300
    assert len(told["found"]) == 20
    assert not any(one["known"] for one in told["found"])
    assert all(len(one["item"]) <= 200 for one in told["found"])


def test_a_name_that_would_play_with_a_terminal_is_told_in_plain_text(place: SmallPlace) -> None:
    (place.root / "etc/cron.d").mkdir()
    (place.root / b"etc/cron.d/echo\x1b]0;owned\x07\xff".decode(errors="surrogateescape")).write_text("x")
    told = wire([look(place, "cron", Footprint(cron=("echo*",)))], 1)
    text = json.dumps(told, ensure_ascii=False)
    text.encode()  # no lone surrogate
    assert "echo?]0;owned??" in text


def test_an_old_folder_that_is_too_large_to_walk_is_not_called_clean(
    place: SmallPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "_MOST_WALKED", 10)
    names = [f"/srv/shared/{number}" for number in range(20)]
    for name in names:
        place.write(name)
    place.before.paths = {"/srv/shared", *names}
    found = look(place, "paths", Footprint(paths=("/srv/shared",)))
    assert "too much" in found.problem
    assert not found.settled
