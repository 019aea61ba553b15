"""What the drivers refuse and what they do not call clean, without a host."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from signed_tasks import TaskSigner

from gpuaas_agent import config
from gpuaas_agent.allocations import AllocationLedger, AllocationRecord
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.drivers import host
from gpuaas_agent.drivers.host import HostDriver
from gpuaas_agent.drivers.lab_container import LabContainerDriver
from gpuaas_agent.drivers.seam import TaskContext
from gpuaas_agent.expectations import WipeTerms
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import agent_start, drives, kernel_state, marker, processes, restart, sshd, stillness
from gpuaas_agent.host.baseline import Baseline, BaselineStore, LiveState
from gpuaas_agent.host.wipe import Wiper
from gpuaas_agent.specs import ReleaseSpec, Slot, parse_provision, parse_release

OFF = "1 drives of the slots are not erased on this node"


def context(generation: int = 1) -> TaskContext:
    return TaskContext(Deadline.after(30), generation, lambda *_: "certificate")


def provision_spec(shape: str = "baremetal", nvme: str | None = None) -> dict[str, object]:
    return {
        "allocation_id": "alc_new",
        "shape": shape,
        "login_user": "gpu",
        "principal": "alc_new",
        "user_ca_keys": [],
        "hostname": "gpu-1",
        "slots": [{"slot_index": 0, "pci_address": "0000:10:00.0", "nvme_device": nvme}],
        "grants": [],
    }


@pytest.fixture
def settings(tmp_path: Path) -> Config:
    return Config(address="10.0.0.1", state_dir=tmp_path / "state", slice_dir=tmp_path / "slices")


@pytest.fixture
def ledger(settings: Config) -> AllocationLedger:
    return AllocationLedger(settings.state_dir)


def old(**changes: object) -> AllocationRecord:
    record = AllocationRecord("alc_old", "baremetal", 1, "gpu", released=True, marker=marker.choose("/home/gpu"))
    return replace(record, **changes)  # type: ignore[arg-type]


def test_an_expected_drive_that_is_absent_is_not_clean() -> None:
    found = drives.inspect(("/dev/nvme987n1",), erased_here=True)
    assert (found.name, found.clean, found.examined) == ("drives", False, 1)
    assert found.found == ["/dev/nvme987n1 is absent: its erasure is not proven"]
    assert drives.erase_all(["/dev/nvme987n1"], Deadline.after(5)) == ["/dev/nvme987n1"]


def test_a_file_in_the_place_of_a_drive_is_absence_too(tmp_path: Path) -> None:
    (tmp_path / "nvme0n1").write_bytes(b"\0" * 4096)
    assert not drives.inspect((str(tmp_path / "nvme0n1"),), erased_here=True).clean


def test_where_erasing_is_off_the_check_says_so_and_examines_nothing() -> None:
    found = drives.inspect(("/dev/nvme987n1",), erased_here=False).wire()
    expected = {"name": "drives", "status": "not_examined", "clean": False, "found": [], "examined": 0}
    assert found == {**expected, "relies_on": "kernel", "detail": OFF}
    assert drives.inspect((), erased_here=False).status == "clean"  # no drive was anybody's


def test_erasing_is_on_unless_the_platform_turns_it_off_and_never_by_a_file_of_the_host() -> None:
    release: dict[str, object] = {"allocation_id": "alc_1", "shape": "baremetal", "slots": []}
    assert parse_release(release).terms.erase_drives
    assert not parse_release({**release, "erase_drives": False}).terms.erase_drives
    assert config.from_mapping({"erase_drives": False}).unknown_keys == ("erase_drives",)


@pytest.mark.parametrize(
    ("source", "mounted"),
    [
        ("/dev/nvme1n1", True),
        ("/dev/nvme1n1p2", True),
        ("/dev/nvme1n10", False),
        ("/dev/nvme1n10p1", False),
        ("/dev/nvme1n1px", False),
        ("tmpfs", False),
    ],
)
def test_a_mounted_drive_or_partition_is_known_by_its_whole_name(source: str, mounted: bool) -> None:
    assert drives.holds("/dev/nvme1n1", source) is mounted


def test_the_drives_of_an_allocation_are_remembered_across_a_restart(
    settings: Config, ledger: AllocationLedger
) -> None:
    platform = TaskSigner()
    made = platform.sign(
        "provision", {**provision_spec(nvme="/dev/nvme987n1"), "allocation_id": "alc_old", "principal": "p"}
    )
    ledger.put(old(drives=("/dev/nvme987n1",), principal="p").with_proof(made))
    known = AllocationLedger(settings.state_dir)
    known.confirm(platform.verify)
    assert known.get("alc_old") == ledger.get("alc_old")
    release = ReleaseSpec("alc_old", "baremetal", "gpu", (Slot(0, "0000:10:00.0", None, "/dev/nvme986n1"),))
    assert HostDriver(settings, known)._release.drives(release) == ("/dev/nvme986n1", "/dev/nvme987n1")


def test_bare_metal_is_refused_beside_an_allocation_that_is_not_proven_clean(
    settings: Config, ledger: AllocationLedger
) -> None:
    ledger.put(old())
    plan = HostDriver(settings, ledger).provision(parse_provision(provision_spec()), context())
    with pytest.raises(TaskFailure) as refused:
        plan.steps[0].run()
    assert (refused.value.code, refused.value.retryable) == ("host_not_clean", False)
    assert "alc_old" in refused.value.message
    left = ledger.get("alc_new")
    assert left is not None
    assert left.released


def test_no_baseline_is_kept_that_a_slice_came_into(
    settings: Config, ledger: AllocationLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = LiveState("boot", frozenset(), frozenset(), frozenset(), (), frozenset(), frozenset())
    came = [old(shape="gpu_slice", released=False)]

    def observe(*_: object) -> Baseline:
        if came:
            ledger.put(came.pop())
        return Baseline({}, frozenset(), live)

    monkeypatch.setattr(host, "observe", observe)
    driver = HostDriver(settings, ledger)
    driver.idle()
    assert not BaselineStore(settings.state_dir).exists()
    ledger.change("alc_old", verified=True)
    driver.idle()
    assert BaselineStore(settings.state_dir).exists()


def test_a_late_deprovision_does_not_shut_out_the_next_tenant(settings: Config, ledger: AllocationLedger) -> None:
    ledger.put(old(verified=True))
    ledger.put(old(allocation_id="alc_next", released=False))
    spec = ReleaseSpec("alc_old", "baremetal", "gpu", ())
    details = [step.run() for step in HostDriver(settings, ledger).deprovision(spec, context()).steps]
    assert details == ["skipped: the host serves another allocation"] * 2


def test_a_slice_without_a_remembered_marker_is_not_clean(
    settings: Config, ledger: AllocationLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuaas_agent.host.units.present", lambda deadline: set())
    plan = LabContainerDriver(settings, ledger).verify(parse_release(provision_spec("gpu_slice")), context())
    assert plan.steps[0].run() == "not clean"
    checks = {entry["name"]: entry for entry in plan.result["checks"]}  # type: ignore[attr-defined]
    assert checks["marker"]["found"] == ["there is no marker on record for this allocation"]
    assert checks["drives"]["clean"] is True


def test_a_release_that_came_before_its_provision_needs_no_marker_but_a_forgotten_one_does() -> None:
    release = {"allocation_id": "alc_1", "shape": "baremetal", "slots": []}
    assert parse_release(release).provisioned
    assert not parse_release({**release, "provisioned": False}).provisioned


def test_drives_are_erased_before_the_restart_and_after_it(settings: Config, ledger: AllocationLedger) -> None:
    """A boot reads what is on drives: partitions, volumes, file systems by their label."""
    live = LiveState("boot", frozenset(), frozenset(), frozenset(), (), frozenset(), frozenset())
    BaselineStore(settings.state_dir).save(Baseline({}, frozenset(), live))
    slots = (Slot(0, "0000:10:00.0", None, "/dev/nvme987n1"),)
    spec = ReleaseSpec("alc_old", "baremetal", "gpu", slots, terms=WipeTerms(grade="rebooted", wipe_id="5a" * 16))
    steps = HostDriver(settings, ledger).wipe(spec, context()).steps
    names = [step.name for step in steps if step.when]
    assert names.count("erase_drives") == 2
    assert names.index("restore_files") < names.index("erase_drives") < names.index("restart")
    assert "erase_drives" in names[names.index("restart") :]
    kept = replace(spec, terms=replace(spec.terms, erase_drives=False))
    assert "erase_drives" not in [
        step.name for step in HostDriver(settings, ledger).wipe(kept, context()).steps if step.when
    ]


def test_directly_before_the_restart_everything_is_stopped_and_the_files_are_restored_again(
    settings: Config, ledger: AllocationLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever still runs after the first restore could write again before the restart."""
    live = LiveState("boot", frozenset(), frozenset(), frozenset(), (), frozenset(), frozenset())
    BaselineStore(settings.state_dir).save(Baseline({}, frozenset(), live))
    done: list[str] = []
    late = [processes.Process(7, 1, 1, False, 0, "/bin/late", "late", "/")]

    @contextlib.contextmanager
    def hold(deadline: Deadline) -> Iterator[None]:
        done.append("stopped")
        yield
        done.append("continues")

    def end_others(deadline: Deadline) -> list[processes.Process]:
        done.append("ended others")
        return [late.pop()] if late else []

    def restore(wiper: Wiper) -> list[str]:
        done.append("restored")
        return list(unrestorable)

    unrestorable: list[str] = []
    monkeypatch.setattr(stillness, "hold", hold)
    monkeypatch.setattr(stillness, "end_others", end_others)
    monkeypatch.setattr(kernel_state, "disarm", lambda before: done.append("disarmed"))
    monkeypatch.setattr(agent_start, "faults", list)
    monkeypatch.setattr(sshd.SshFiles, "deny_logins", lambda files: True)
    monkeypatch.setattr(Wiper, "unmount_extra", lambda wiper, deadline: "")
    monkeypatch.setattr(Wiper, "restore_stopped", restore)
    monkeypatch.setattr(Wiper, "settle_units", lambda wiper, deadline: "")
    monkeypatch.setattr(restart, "restart", lambda *_: done.append("restarted"))
    spec = ReleaseSpec("alc_old", "baremetal", "gpu", (), terms=WipeTerms(grade="rebooted", wipe_id="5a" * 16))
    (step,) = [one for one in HostDriver(settings, ledger).wipe(spec, context()).steps if one.name == "restart"]
    step.run()
    # What came while the files were restored could have changed one, so they are restored once more.
    once = ["disarmed", "restored", "ended others"]
    assert done == ["stopped", *once, *once, "restarted", "continues"]
    done.clear()
    unrestorable.append("changed /usr/bin/true")
    with pytest.raises(TaskFailure) as refused:
        step.run()
    assert (refused.value.code, refused.value.retryable) == ("host_changes_back", True)
    assert "changed /usr/bin/true" in refused.value.message
    assert "restarted" not in done
