"""What a wipe puts back and a verification lets pass: rules without a host."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpuaas_agent import program
from gpuaas_agent.allocations import AllocationLedger
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.drivers.host import HostDriver
from gpuaas_agent.expectations import WipeTerms, canonical_sha256, parse_terms
from gpuaas_agent.failures import SpecInvalid, TaskFailure
from gpuaas_agent.host import device_nodes, kernel_state, manifest, processes, restart, volatile_files
from gpuaas_agent.host.agent_checks import AgentFiles
from gpuaas_agent.host.baseline import AgentFolders, Baseline, LiveState
from gpuaas_agent.host.checks import NotExamined, check, wire
from gpuaas_agent.host.manifest import Entry
from gpuaas_agent.host.programs import Programs
from gpuaas_agent.host.restart import WipeProgressStore
from gpuaas_agent.host.sshd import CLOSED_TEXT
from gpuaas_agent.host.verify import Verifier, _those_under
from gpuaas_agent.printable import printable
from gpuaas_agent.sim.answers import SimHost
from gpuaas_agent.specs import ReleaseSpec, Slot


def file(
    content: str = "", *, size: int = 0, mode: int = 0o644, uid: int = 0, kind: str = "file", attributes: str = ""
) -> Entry:
    return Entry(kind, mode, uid, 0, size, 0, content, attributes)


def explained(path: str, before: Entry | None, now: Entry | None) -> bool:
    old = {path: before} if before else {}
    new = {path: now} if now else {}
    return volatile_files.unexplained(old, new, manifest.compare(old, new)).total == 0


OURS = "5a" * 16  # the id of the wipe in progress
SHUT = hashlib.sha256(CLOSED_TEXT.encode()).hexdigest()
JOURNAL = "/var/log/journal/0123/system.journal"


@pytest.mark.parametrize(
    ("path", "before", "now", "passes"),
    [
        ("/etc/resolv.conf", file("a"), file("b"), False),
        ("/etc/machine-id", file("a"), file("b"), False),
        ("/var/lib/systemd/linger/root", None, file("a"), False),
        ("/var/lib/systemd/timers/stamp-x.timer", None, file(size=0), True),
        ("/var/lib/systemd/timers/stamp-x.timer", None, file("a", size=9), False),
        ("/var/lib/systemd/random-seed", file("a"), file("b", size=512, mode=0o600), True),
        ("/var/lib/systemd/random-seed", file("a"), file("b", size=1 << 20, mode=0o600), False),
        ("/var/log/dpkg.log", file("a", size=10), file("", size=0), True),
        ("/var/log/dpkg.log", file("a", size=10), file("b", size=1 << 20), False),
        ("/var/log/dpkg.log", file("a"), file("b", mode=0o4755), False),
        ("/var/log/evil.log", None, file("a", size=1), False),
        ("/var/log/wtmp", None, file("a", size=400), True),
        (JOURNAL, None, file("a", size=8 << 20, mode=0o640), True),
        (JOURNAL, None, file("a", mode=0o640, attributes="user.crtime_usec=00"), True),
        (JOURNAL, None, file("a", mode=0o640, attributes="locked;"), False),
        (JOURNAL, file("a", mode=0o640), file("b", mode=0o640, attributes="locked;user.crtime_usec=00"), False),
        ("/etc/.pwd.lock", None, file(mode=0o600, attributes="locked;"), False),
        ("/var/log/journal/0123/system@1.journal", None, file("a", mode=0o640), False),
        ("/var/log/journal/0123/system@1.journal", file("a", mode=0o640), None, True),
        ("/var/log/journal/evil", None, file(kind="folder"), False),
        ("/var/cache/man/index.db", file("a"), None, True),
        ("/var/cache/man/index.db", file("a"), file("b"), False),
        ("/var/cache/evil", None, file("a"), False),
        ("/etc/ssh/ssh_host_ed25519_key", file("a", mode=0o600), file("b", mode=0o600), True),
        ("/etc/ssh/ssh_host_ed25519_key", file("a", mode=0o600), file("b", mode=0o644), False),
        ("/etc/ssh/ssh_host_rsa_key", file("a", mode=0o600), file("b", mode=0o600), False),
        ("/etc/ssh/sshd_config.d/00-gpuaas-closed.conf", None, file(SHUT), True),
        ("/etc/ssh/sshd_config.d/00-gpuaas-closed.conf", None, file("b"), False),
        ("/etc/gpuaas/ssh/keys/root", None, file("a"), False),
        ("/etc/.pwd.lock", None, file(mode=0o600), True),
        ("/etc/.pwd.lock", None, file("a", size=3, mode=0o600), False),
    ],
)
def test_a_file_passes_only_by_its_own_rule(path: str, before: Entry | None, now: Entry | None, passes: bool) -> None:
    assert explained(path, before, now) is passes


def test_the_configuration_passes_only_with_the_content_that_the_platform_sent() -> None:
    path, digest = "/etc/gpuaas/agent.json", "d" * 64
    before, now = {path: file("a")}, {path: file(digest, mode=0o600)}
    difference = manifest.compare(before, now)
    assert volatile_files.unexplained(before, now, difference, {path: digest}).total == 0
    assert volatile_files.unexplained(before, now, difference, {path: "e" * 64}).total == 1
    assert volatile_files.unexplained(before, now, difference).total == 1


def test_a_process_that_runs_another_content_or_a_removed_file_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "echo"
    shutil.copy("/bin/cat", copy)
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    running = subprocess.Popen([str(copy)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    try:
        running.stdin.write(b"up\n")
        running.stdin.flush()
        assert running.stdout.readline() == b"up\n"  # its libraries are loaded
        libraries = {
            line.split(None, 5)[5].strip(): manifest.read(line.split(None, 5)[5].strip())
            for line in Path(f"/proc/{running.pid}/maps").read_text().splitlines()
            if " r-xp " in line and "/" in line
        }
        known = {path: entry for path, entry in libraries.items() if entry is not None}
        assert Programs({**known, str(copy): file(digest)}).fault(running.pid) == ""
        assert "another content" in Programs({**known, str(copy): file("0" * 64)}).fault(running.pid)
        assert "not there before" in Programs({str(copy): file(digest)}).fault(running.pid)  # a library is not known
        copy.unlink()
        assert "replaced or removed" in Programs({**known, str(copy): file(digest)}).fault(running.pid)
    finally:
        running.kill()
        running.communicate()
    assert Programs({}).fault(running.pid) == ""  # it is gone


def test_the_agents_own_process_is_judged_too() -> None:
    [own] = [process for process in processes.snapshot() if process.pid == os.getpid()]
    assert [fault for _, fault in Programs({}).find_replaced_programs([own])] == [
        f"runs {os.path.realpath(sys.executable)}, which was not there before"
    ]


def test_a_wipe_knows_its_own_restart_and_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = WipeProgressStore(tmp_path)
    progress = store.begin("alc_1", 3, OURS)
    assert not restart.has_restarted(progress)
    monkeypatch.setattr(processes, "boot_id", lambda: "another")
    assert not restart.has_restarted(store.begin("alc_1", 3, OURS)), "a power cut before it was asked for is no restart"
    asked = store.note_attempt(store.begin("alc_1", 3, OURS))
    assert restart.has_restarted(store.begin("alc_1", 3, OURS))
    assert asked.boot_id == progress.boot_id
    assert not restart.has_restarted(store.begin("alc_1", 4, OURS)), "of an earlier wipe"
    assert store.find("alc_2", OURS) is None


@pytest.mark.parametrize("guessed", [{}, {"wipe_id": ""}, {"wipe_id": "0" * 32}, {"wipe_id": [OURS]}])
def test_progress_that_a_tenant_planted_skips_no_restart(tmp_path: Path, guessed: dict[str, object]) -> None:
    planted = {"allocation_id": "alc_1", "generation": 3, "boot_id": "x", "attempts": 1, "ended_in": "x"}
    store = WipeProgressStore(tmp_path)
    (tmp_path / restart.NAME).write_text(json.dumps(planted | guessed))
    assert store.find("alc_1", OURS) is None
    begun = store.begin("alc_1", 3, OURS)
    assert not restart.has_restarted(begun)
    assert not restart.has_booted_since(begun)
    assert begun.boot_id == processes.boot_id()


def test_a_host_that_does_not_restart_is_given_up(tmp_path: Path) -> None:
    store = WipeProgressStore(tmp_path)
    progress = store.begin("alc_1", 1, OURS)
    for _ in range(restart.MOST_ATTEMPTS):
        progress = store.note_attempt(progress)
    with pytest.raises(TaskFailure) as failed:
        restart.restart(store, store.begin("alc_1", 1, OURS), None)  # type: ignore[arg-type]
    assert failed.value.code == "restart_failed"


def test_a_check_says_whether_it_looked() -> None:
    def did_not_look() -> tuple[int, list[str]]:
        raise NotExamined("nobody said what to expect")

    def examine_in_vain() -> tuple[int, list[str]]:
        raise OSError(5, "I/O error")

    checks = [check("a", lambda: (3, [])), check("b", did_not_look), check("c", examine_in_vain)]
    assert [(one.status, one.clean, one.examined) for one in checks] == [
        ("clean", True, 3),
        ("not_examined", False, 0),
        ("found", False, 0),
    ]
    assert wire(checks)["clean"] is False
    assert wire(checks[:2]) == {"clean": True, "grade": "inspected", "checks": [one.wire() for one in checks[:2]]}


def test_a_check_of_a_folder_that_the_manifest_leaves_out_is_not_clean() -> None:
    looked = check("queues", lambda: _those_under([], {}, ("/etc/cron", "/dev/mqueue/")))
    assert looked.status == "found"
    assert "/dev/mqueue/" in looked.found[0]
    assert check("scratch", lambda: _those_under([], {}, ("/tmp",))).status == "found"
    assert check("crontabs", lambda: _those_under([], {}, ("/etc/cron", "/devices/"))).status == "clean"


def test_what_a_tenant_named_reaches_nobody_raw() -> None:
    name = "x\x1b]0;evil\x07\u202e\n" + "y" * 1000
    [line] = check("files", lambda: (1, [f"added /tmp/{name}"])).found
    assert line.isprintable()
    assert len(line) <= 300
    assert printable("plain ü") == "plain ü"


@pytest.mark.parametrize(
    "changes",
    [
        {"grade": "reimaged"},
        {"wipe_id": "../x"},
        {"wipe_id": 5},
        {"erase_drives": "no"},
        {"expected": {"agent_sha256": "x"}},
        {"restore": {"configuration": "x" * (65 << 10)}},
        {"restore": {"identity": {"node_id": "nod_1"}}},
        {"restore": {"identity": {"node_id": "nod_1", "task_keys": [{}], "urls": "https://evil"}}},
    ],
)
def test_terms_that_make_no_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SpecInvalid):
        parse_terms(changes)


def test_digests_are_of_what_is_on_disk(tmp_path: Path) -> None:
    identity = {"node_id": "nod_1", "task_keys": [{"kid": "k"}], "urls": ["https://platform"]}
    (tmp_path / "node.json").write_text(json.dumps({**identity, "server_time": "now"}))
    (tmp_path / "agent.json").write_text("{}")
    files = AgentFiles(tmp_path / "agent.json", tmp_path)
    expected = {
        "configuration_sha256": hashlib.sha256(b"{}").hexdigest(),
        "trust_sha256": canonical_sha256(identity),
        "agent_sha256": program.program_sha256(),
    }
    terms = parse_terms({"expected": expected, "restore": {"identity": identity}})
    assert [one.status for one in files.checks(terms)] == ["clean"] * 3
    assert files.digests(terms) == expected
    (tmp_path / "node.json").write_text(json.dumps({**identity, "urls": ["https://evil"]}))
    (tmp_path / "agent.json").write_text('{"golden_root": "/evil"}')
    assert [one.status for one in files.checks(terms)] == ["found", "found", "clean"]
    assert [one.status for one in files.checks(parse_terms({}))] == ["not_examined"] * 3


def test_the_programs_digest_sees_content_names_and_additions(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "__pycache__").mkdir()
    first = program.program_sha256(tmp_path)
    (tmp_path / "__pycache__/a.pyc").write_text("x")
    assert program.program_sha256(tmp_path) == first
    (tmp_path / "b.py").write_text("")
    second = program.program_sha256(tmp_path)
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    assert len({first, second, program.program_sha256(tmp_path)}) == 3


def test_kernel_state_names_what_came_and_what_went() -> None:
    before, now = frozenset({"module a", "setting x = 0"}), frozenset({"module a", "setting x = 1", "module evil"})
    assert kernel_state.differences(before, now) == ["now: module evil", "now: setting x = 1", "before: setting x = 0"]


def sysfs_of(root: Path, **sectors: int) -> Path:
    """A sysfs with these block devices."""
    for minor, (name, size) in enumerate(sectors.items()):
        folder = root / "class/block" / name
        folder.mkdir(parents=True)
        (folder / "size").write_text(f"{size}\n")
        (folder / "ro").write_text("0\n")
        (folder / "wwid").write_text(f"eui.{minor}\n")
        device = root / "dev/block" / f"259:{minor}"
        device.mkdir(parents=True)
        (device / "uevent").write_text(f"MAJOR=259\nMINOR={minor}\nDEVNAME={name}\n")
    return root


def test_a_drive_that_shrank_and_one_that_came_are_named(tmp_path: Path) -> None:
    before = frozenset(device_nodes.block_devices(sysfs_of(tmp_path / "a", nvme0n1=1000)))
    now = frozenset(device_nodes.block_devices(sysfs_of(tmp_path / "b", nvme0n1=900, nvme0n2=100)))
    assert before == {"block device nvme0n1 sectors 1000 read-only 0 id eui.0"}
    observed = {kernel_state._WITH_BLOCK_DEVICES}
    assert kernel_state.differences(before | observed, now | observed) == [
        "now: block device nvme0n1 sectors 900 read-only 0 id eui.0",
        "now: block device nvme0n2 sectors 100 read-only 0 id eui.1",
        "before: block device nvme0n1 sectors 1000 read-only 0 id eui.0",
    ]
    with pytest.raises(FileNotFoundError):
        list(device_nodes.block_devices(tmp_path / "not mounted"))


def test_drives_that_no_check_reads_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sysfs = sysfs_of(tmp_path, nvme0n1=1000, nvme0n1p1=900, sda=500, sr0=0, loop0=700)
    for name in ("nvme0n1", "nvme0n1p1", "sda", "sr0"):
        (sysfs / "class/block" / name / "device").mkdir()
    (sysfs / "class/block/nvme0n1p1/partition").write_text("1\n")
    assert device_nodes.drives(sysfs) == ["/dev/nvme0n1", "/dev/sda"]
    monkeypatch.setattr(device_nodes, "drives", lambda: ["/dev/nvme0n1", "/dev/sda"])
    monkeypatch.setattr(kernel_state, "_has_own_kernel", lambda: True)
    config = Config(address="10.0.0.1", state_dir=tmp_path / "state")
    driver = HostDriver(config, AllocationLedger(config.state_dir))
    slots = (Slot(0, "0000:10:00.0", None, "/dev/nvme0n1"),)
    spec = ReleaseSpec("alc_1", "baremetal", "gpu", slots)
    assert driver._release._drives_not_read(spec) == ["/dev/sda"]
    kept = replace(spec, terms=WipeTerms(erase_drives=False))
    assert driver._release._drives_not_read(kept) == ["/dev/nvme0n1", "/dev/sda"]
    monkeypatch.setattr(kernel_state, "_has_own_kernel", lambda: False)
    assert driver._release._drives_not_read(spec) == [], "a container sees the drives of the machine around it"


def test_block_devices_are_not_compared_with_an_older_baseline_which_is_told() -> None:
    now = frozenset({"module a", "block device sda", kernel_state._WITH_BLOCK_DEVICES})
    assert kernel_state.differences(frozenset({"module a"}), now) == []
    assert "the baseline is of an older agent" in kernel_state.describe_unreadable_state(frozenset({"module a"}))
    assert "the baseline is of an older agent" not in kernel_state.describe_unreadable_state(now)


def test_only_nodes_that_the_kernel_does_not_give_are_removed_from_dev(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its node a drive would be hidden, not gone."""
    sysfs = sysfs_of(tmp_path / "sys", nvme0n1=1000)
    node = os.stat_result((stat.S_IFBLK | 0o600, 0, 0, 1, 0, 0, 0, 0, 0, 0), {"st_rdev": os.makedev(259, 0)})
    assert device_nodes.is_kernels_own("/dev/nvme0n1", node, sysfs)
    assert not device_nodes.is_kernels_own("/dev/.hidden", node, sysfs)
    other = os.stat_result((stat.S_IFCHR | 0o600, 0, 0, 1, 0, 0, 0, 0, 0, 0), {"st_rdev": os.makedev(259, 0)})
    assert not device_nodes.is_kernels_own("/dev/nvme0n1", other, sysfs)
    planted = tmp_path / "planted"
    planted.symlink_to("/etc/passwd")
    kernel_state._unlink_planted(str(planted))
    assert not planted.is_symlink()
    kept = tmp_path / "kept"
    kept.touch()
    monkeypatch.setattr(device_nodes, "is_kernels_own", lambda path, status: True)
    kernel_state._unlink_planted(str(kept))
    assert kept.exists()


@pytest.mark.parametrize("added", [frozenset[str](), frozenset({"module evil"})])
def test_a_kernel_that_is_not_seen_as_a_whole_is_not_clean_and_what_is_found_counts(
    monkeypatch: pytest.MonkeyPatch, added: frozenset[str]
) -> None:
    kernel = frozenset({kernel_state._WITH_BLOCK_DEVICES})
    live = LiveState("boot", frozenset(), frozenset(), frozenset(), (), frozenset(), frozenset(), kernel)
    verifier = Verifier(Baseline({}, frozenset(), live), AgentFolders("/s", "/t"), None, Deadline.after(30))
    monkeypatch.setattr(kernel_state, "observe", lambda deadline: kernel | added)
    monkeypatch.setattr(kernel_state, "_has_own_kernel", lambda: False)
    looked = check("kernel", verifier._kernel)
    if added:
        assert (looked.status, looked.found) == ("found", ["now: module evil"])
    else:
        assert (looked.status, looked.clean) == ("not_examined", False)
        assert "modules and block devices" in looked.detail


@pytest.mark.parametrize(("bound", "may"), [("0000000000010000", True), ("00000000fdecafff", False)])
def test_modules_count_where_the_host_can_load_them(bound: str, may: bool) -> None:
    assert kernel_state.may_load_modules(f"CapEff:\t0\nCapBnd:\t{bound}\n") is may


def test_a_simulated_host_answers_a_wipe_with_a_restart_like_a_real_one() -> None:
    host, spec = SimHost(5), {"shape": "baremetal", "grade": "rebooted"}
    before = host.boot_id
    assert host.wipe(spec)
    result, evidence = host.verify(spec)
    assert (result["clean"], result["grade"]) == (True, "rebooted")
    assert (evidence["boot_id_before_wipe"], evidence["boot_id"]) == (before, host.boot_id)
    assert before != host.boot_id
    assert not host.wipe({"shape": "gpu_slice"})
