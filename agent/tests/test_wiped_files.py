"""Which files a wipe sees and what it never follows: links, mount points, folders whose content it leaves to others."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import journal_files, manifest, mounts, processes, removal, under_mounts, wipe
from gpuaas_agent.host.baseline import AgentFolders, Baseline, LiveState, _decode, _encode
from gpuaas_agent.host.checks import check
from gpuaas_agent.host.mounts import Mount
from gpuaas_agent.host.restart import WipeProgressStore
from gpuaas_agent.host.verify import Verifier
from gpuaas_agent.host.wipe import Wiper

LIVE = LiveState("boot", frozenset(), frozenset(), frozenset(), (), frozenset(), frozenset())


def mount(point: str, kind: str = "ext4", root: str = "/", *, read_only: bool = False) -> Mount:
    return Mount(point, root, kind, "/dev/x", read_only)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A root folder with a scratch folder, what a file system check found, and a folder of the agent."""
    root = tmp_path / "root"
    for folder in ("tmp/deep", "lost+found", "etc", "agent"):
        (root / folder).mkdir(parents=True)
    for file in ("tmp/deep/x", "lost+found/#1", "etc/hosts", "agent/key"):
        (root / file).write_text("x")
    return root


def scan(host: Path, like: manifest.Manifest | None = None) -> manifest.Manifest:
    found = manifest.scan(("/agent",), str(host), like=like)
    return {path.removeprefix(str(host)) or "/": entry for path, entry in found.items()}


def test_the_root_and_folders_of_others_are_compared_but_not_their_content(host: Path) -> None:
    before = scan(host)
    assert set(before) == {"/", "/tmp", "/lost+found", "/lost+found/#1", "/etc", "/etc/hosts", "/agent"}
    host.chmod(0o700)
    (host / "tmp").chmod(0o777)
    (host / "tmp/new").touch()
    (host / "lost+found/evil").touch()
    difference = manifest.compare(before, scan(host))
    assert difference.describe() == ["added /lost+found/evil", "changed /", "changed /tmp"]


def test_a_link_in_place_of_a_scratch_folder_is_a_change(host: Path) -> None:
    before = scan(host)
    (host / "tmp").rename(host / "etc/tmp")
    (host / "tmp").symlink_to("etc/tmp")
    assert "changed /tmp" in manifest.compare(before, scan(host)).describe()


def test_a_manifest_of_an_older_agent_is_compared_without_the_edges(host: Path) -> None:
    """Else the wipe would remove as added what was always there: `/` among it."""
    older = {path: entry for path, entry in manifest.scan(("/agent",), str(host)).items() if path != str(host)}
    older = {path: entry for path, entry in older.items() if not path.endswith(("/tmp", "/agent"))}
    now = manifest.scan(("/agent",), str(host), like=older)
    assert manifest.compare(older, now).total == 0


@pytest.mark.parametrize(
    ("listed", "entered"),
    [
        (mount("/data"), True),
        (mount("/usr", read_only=True), True),
        (mount("/usr", "btrfs", "/@usr", read_only=True), True),
        (mount("/view", root="/some/folder", read_only=True), False),
        (mount("/nfs", "nfs4"), False),
        (mount("/snap", "squashfs", read_only=True), False),
    ],
)
def test_a_disk_that_is_mounted_read_only_is_examined_too(listed: Mount, entered: bool) -> None:
    assert (listed.point not in mounts.not_part_of_root([mount("/"), listed])) is entered


def test_a_link_in_place_of_a_folder_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target, place = tmp_path / "target", tmp_path / "place"
    place.mkdir(mode=0o755)
    entry = manifest.read(str(place))
    assert entry is not None
    place.rmdir()
    target.mkdir(mode=0o700)
    place.symlink_to(target)
    wiper = Wiper(Baseline({}, frozenset(), LIVE), AgentFolders("/s", "/t"), tmp_path, None)
    assert wiper._restore(str(place), entry)
    assert (place.is_symlink(), place.is_dir(), target.stat().st_mode & 0o777) == (False, True, 0o700)


def test_scratch_folders_are_not_emptied_through_links(tmp_path: Path) -> None:
    private = f"systemd-private-{processes.boot_id().replace('-', '')}-chrony.service-AbCdEf"
    other = "systemd-private-00000000000000000000000000000000-evil.service-AbCdEf"
    precious, scratch = tmp_path / "precious", tmp_path / "scratch"
    for folder in (precious, scratch / private / "tmp", scratch / other / "tmp"):
        folder.mkdir(parents=True)
    for folder in (private, other):
        (scratch / folder).chmod(0o700)
    (precious / "data").touch()
    (scratch / private / "tmp/left").touch()
    (scratch / private / "beside").touch()
    (scratch / "link").symlink_to(precious)
    found = {path.removeprefix(f"{scratch}/") for path in wipe.scratch_leftovers(str(scratch))}
    ours = {f"{private}/tmp/left", f"{private}/beside"} if os.geteuid() == 0 else {private}
    assert found == {"link", other, *ours}
    (tmp_path / "replaced").symlink_to(precious)
    assert wipe.scratch_leftovers(str(tmp_path / "replaced")) == [str(tmp_path / "replaced")]
    (scratch / private / "tmp/left").unlink()
    (scratch / private / "tmp").rmdir()
    (scratch / private / "tmp").symlink_to(precious)
    assert not [path for path in wipe.scratch_leftovers(str(scratch)) if path.endswith("data")]


def test_slices_are_not_looked_for_behind_a_link_or_a_file(tmp_path: Path) -> None:
    slices = tmp_path / "slices"
    folders = AgentFolders(str(tmp_path / "state"), str(slices))
    assert folders.leftover_slices() == []
    slices.write_text("in the way")
    assert folders.leftover_slices() == [str(slices)]
    slices.unlink()
    slices.symlink_to("/etc")
    assert folders.leftover_slices() == [str(slices)]
    slices.unlink()
    (slices / "gpu-1").mkdir(parents=True)
    assert folders.leftover_slices() == [str(slices / "gpu-1")]


def test_a_folder_in_which_something_is_mounted_is_not_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "added"
    (folder / "mounted").mkdir(parents=True)
    (folder / "mounted/precious").touch()
    monkeypatch.setattr(mounts, "table", lambda: [mount("/"), mount(str(folder / "mounted"))])
    assert not removal.remove(str(folder))
    assert (folder / "mounted/precious").exists()
    monkeypatch.setattr(mounts, "table", lambda: [mount("/"), mount(f"{folder}-beside")])
    assert removal.remove(str(folder))
    assert not folder.exists()


def test_what_covers_a_folder_on_disk_is_known_by_the_mount_that_the_folder_is_in() -> None:
    table = [
        mount("/"),
        mount("/proc", "proc"),
        mount("/proc/sys/fs/binfmt_misc", "binfmt_misc"),
        mount("/run", "tmpfs"),
        mount("/run/lock", "tmpfs"),
        mount("/data"),
        mount("/data/deep/in", "nfs4"),
        mount("/database", "tmpfs"),
    ]
    on_disk = {point: parent.point for point, parent in under_mounts._parents(table).items() if parent.is_on_disk}
    assert on_disk == {"/proc": "/", "/run": "/", "/data": "/", "/data/deep/in": "/data", "/database": "/"}


def test_what_is_under_mounts_is_stored_and_an_older_baseline_is_not_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = manifest.Entry("file", 0o644, 0, 0, 1, 0, "a", "")
    older = Baseline({}, frozenset(), LIVE)
    newer = replace(older, under_mounts={"/run/x": entry})
    assert _decode(_encode(newer)) == newer
    assert _decode(_encode(older)).under_mounts is None
    monkeypatch.setattr(under_mounts, "scan", lambda: {"/run/x": entry, "/run/evil": entry})
    monkeypatch.setattr(mounts, "table", list)

    def look(baseline: Baseline) -> tuple[str, list[str]]:
        verifier = Verifier(baseline, AgentFolders("/s", "/t"), None, Deadline.after(30))
        looked = check("mounts", verifier._mounts)
        return looked.status, looked.found

    assert look(newer) == ("found", ["under a mount: added /run/evil"])
    assert look(older) == ("not_examined", [])
    monkeypatch.setattr(under_mounts, "scan", lambda: {"/run/x": entry})
    assert look(newer) == ("clean", [])


def journal(folder: Path, number: int, name: str = "system.journal") -> Path:
    """The header of a journal with this id."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"LPKSHHRH" + bytes(16) + number.to_bytes(16, "big") + bytes(200))
    return folder / name


def id_of(number: int) -> str:
    return number.to_bytes(16, "big").hex()


def test_only_the_journal_that_the_wipe_began_passes(tmp_path: Path) -> None:
    path = journal(tmp_path / "machine", 1)
    assert journal_files.faults(id_of(1), tmp_path) == []
    found = [f"not begun by the wipe {path}"]
    assert journal_files.faults("", tmp_path) == found
    assert journal_files.faults(id_of(2), tmp_path) == found
    journal(tmp_path / "another", 3)
    assert len(journal_files.faults(id_of(1), tmp_path)) == 2
    assert journal_files.faults(f"{id_of(1)} {id_of(3)}", tmp_path) == []
    path.write_bytes(b"planted")
    assert len(journal_files.faults(f"{id_of(1)} {id_of(3)}", tmp_path)) == 2
    assert journal_files.faults("", tmp_path / "no journal on disk") == []


@pytest.mark.parametrize("begun", [1, 2])
def test_a_journal_that_is_not_begun_anew_fails_the_wipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: int
) -> None:
    """A file may be where journald cannot write: the status of its command does not tell."""
    journal(tmp_path / "machine", 1)

    def rotate(argv: list[str], deadline: Deadline) -> subprocess.CompletedProcess[bytes]:
        journal(tmp_path / "machine", begun)
        return subprocess.CompletedProcess(argv, 0)

    monkeypatch.setattr(commands, "attempt", rotate)
    if begun == 2:
        assert journal_files.renew(Deadline.after(30), tmp_path) == id_of(2)
    else:
        with pytest.raises(TaskFailure) as failed:
            journal_files.renew(Deadline.after(30), tmp_path)
        assert failed.value.code == "journal_not_renewed"


def test_a_rotation_that_fails_is_tried_again_with_a_new_journald_and_then_fails_the_wipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def refuse(argv: list[str], deadline: Deadline, **_: object) -> subprocess.CompletedProcess[bytes]:
        tried.append(argv[0])
        return subprocess.CompletedProcess(argv, 1, b"", b"no journald")

    monkeypatch.setattr(commands, "attempt", refuse)
    with pytest.raises(TaskFailure):
        journal_files.renew(Deadline.after(30), tmp_path)
    assert tried == ["journalctl", "systemctl", "journalctl"]


def test_the_end_of_a_wipe_keeps_which_journals_it_began(tmp_path: Path) -> None:
    store = WipeProgressStore(tmp_path)
    progress = store.begin("alc_1", 1, "5a" * 16)
    store.note_journals(progress, id_of(7))
    store.note_end(progress)
    known = store.find("alc_1", "5a" * 16)
    assert known is not None
    assert (known.journals, known.ended_in) == (id_of(7), processes.boot_id())
