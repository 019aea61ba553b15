"""What a tenant who was root has planted in the agent's own folder: never believed, and not left by a wipe."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from signed_tasks import NODE, TaskSigner

from gpuaas_agent import durable
from gpuaas_agent.allocations import AllocationLedger, AllocationRecord
from gpuaas_agent.anchors import Anchors
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.drivers.host import HostDriver
from gpuaas_agent.drivers.seam import TaskContext
from gpuaas_agent.expectations import Restore
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import accounts, marker, sshd
from gpuaas_agent.identity import store_anchors
from gpuaas_agent.own_state import OwnState
from gpuaas_agent.protocol import SignedTask
from gpuaas_agent.specs import ReleaseSpec, parse_access
from gpuaas_agent.state import TaskJournal, task_on_disk

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def access(allocation_id: str = "alc_1", key: str | None = None) -> dict[str, object]:
    grants = [{"grant_id": "gra_1", "public_key": key, "expires_at": None}] if key else []
    return {
        "allocation_id": allocation_id,
        "shape": "baremetal",
        "login_user": "gpu",
        "principal": allocation_id,
        "user_ca_keys": [],
        "grants": grants,
        "slots": [],
    }


@pytest.fixture
def platform() -> TaskSigner:
    return TaskSigner()


def stored(task: SignedTask, **more: object) -> dict[str, object]:
    return {**task_on_disk(task), "generation": 1, "result": None, **more}


def journal_with(folder: Path, resource_id: str, *tasks: dict[str, object], generation: int = 1) -> TaskJournal:
    entries = {f"tsk_{number}": entry for number, entry in enumerate(tasks)}
    durable.make_private_folder(folder / "resources")
    durable.write_json(folder / f"resources/{resource_id}.json", {"generation": generation, "tasks": entries})
    return TaskJournal(folder)


def test_a_stored_task_that_the_platform_has_not_signed_is_dropped(tmp_path: Path, platform: TaskSigner) -> None:
    journal = journal_with(tmp_path, "alc_1", stored(TaskSigner().sign("wipe")))
    journal.recover(platform.verify)
    assert journal.open_tasks() == []
    assert list((tmp_path / "resources").iterdir()) == []


@pytest.mark.parametrize("changes", [{"node_id": "nod_2"}, {"resource_id": "alc_2"}])
def test_a_signed_task_of_another_node_or_resource_is_dropped(
    tmp_path: Path, platform: TaskSigner, changes: dict[str, str]
) -> None:
    journal = journal_with(tmp_path, "alc_1", stored(platform.sign("wipe", **changes)))  # type: ignore[arg-type]
    journal.recover(platform.verify)
    assert journal.open_tasks() == []


def test_a_planted_generation_does_not_count_but_a_signed_one_does(tmp_path: Path, platform: TaskSigner) -> None:
    journal = journal_with(tmp_path, "alc_1", stored(platform.sign("wipe", generation=4)), generation=999)
    journal.recover(platform.verify)
    assert journal.highest_generation("alc_1") == 4


def test_the_highest_generation_outlives_its_task_with_its_signature(tmp_path: Path, platform: TaskSigner) -> None:
    journal = TaskJournal(tmp_path)
    task = platform.sign("wipe", generation=7)
    journal.accept(task, platform.verify(task))
    journal.forget_task("alc_1", "tsk_1")
    after = TaskJournal(tmp_path)
    after.recover(platform.verify)
    assert (after.highest_generation("alc_1"), after.open_tasks()) == (7, [])


@pytest.mark.parametrize(("kind", "believed"), [("verify_wipe", False), ("wipe", False), ("provision", True)])
def test_a_stored_proof_is_not_reported_but_made_again(
    tmp_path: Path, platform: TaskSigner, kind: str, believed: bool
) -> None:
    journal = journal_with(tmp_path, "alc_1", stored(platform.sign(kind), result={"status": "succeeded"}))
    journal.recover(platform.verify)
    assert (journal.stored_result("alc_1", "tsk_1") is not None) is believed


@pytest.mark.parametrize("name", ["alc_1.json", ".alc_1.json.new", "folder", "link.json"])
def test_whatever_else_lies_among_the_tasks_is_removed_at_the_start(
    tmp_path: Path, platform: TaskSigner, name: str
) -> None:
    journal = TaskJournal(tmp_path)
    path = tmp_path / "resources" / name
    if name == "folder":
        (path / "deep").mkdir(parents=True)
    elif name == "link.json":
        path.symlink_to("/etc/passwd")
    else:
        path.write_text("not json")
    journal.recover(platform.verify)
    assert list((tmp_path / "resources").iterdir()) == []


def remembered(folder: Path, *proofs: SignedTask, key: str = KEY) -> AllocationLedger:
    """A record on disk as somebody with root may have written it, and the ledger that reads it."""
    record = AllocationRecord("alc_1", "baremetal", 1, "gpu", marker=marker.choose("/home/gpu"))
    forged = {"grant_id": "gra_evil", "public_key": key, "expires_at": None}
    for proof in proofs:
        record = record.with_proof(proof)
    durable.make_private_folder(folder / "allocations")
    raw = {**asdict(record), "grants": [forged], "drives": ["/dev/nvme7n1"]}
    durable.write_json(folder / "allocations/alc_1.json", raw)
    return AllocationLedger(folder)


def test_a_record_without_a_signed_task_gives_no_access_but_counts_as_a_trace(
    tmp_path: Path, platform: TaskSigner
) -> None:
    ledger = remembered(tmp_path)
    ledger.confirm(platform.verify)
    record = ledger.get("alc_1")
    assert record is not None
    assert (record.grants, record.drives, ledger.served()) == ((), (), [])
    assert [one.allocation_id for one in ledger.unproven()] == ["alc_1"]
    with pytest.raises(TaskFailure, match="allocation_not_here"):
        ledger.require_served("alc_1")


def test_login_rights_come_from_the_newest_signed_task_and_not_from_the_file(
    tmp_path: Path, platform: TaskSigner
) -> None:
    provision = platform.sign("provision", {**access(), "hostname": "gpu-1"}, generation=1)
    changed = platform.sign("sync_access", access(key=KEY), generation=2)
    ledger = remembered(tmp_path, provision, changed)
    ledger.confirm(platform.verify)
    record = ledger.require_served("alc_1")
    assert [grant.grant_id for grant in record.grants] == ["gra_1"]
    assert record.drives == ()


@pytest.mark.parametrize("proof", ["of another allocation", "of another kind", "forged"])
def test_a_signed_task_that_does_not_make_the_record_confirms_nothing(
    tmp_path: Path, platform: TaskSigner, proof: str
) -> None:
    task = {
        "of another allocation": platform.sign("provision", access("alc_2")),
        "of another kind": platform.sign("terminal", access()),
        "forged": TaskSigner().sign("provision", access()),
    }[proof]
    ledger = remembered(tmp_path, task)
    ledger.confirm(platform.verify)
    assert ledger.served() == []


@pytest.mark.parametrize("proofs", [[], ["junk"]], ids=["of an older agent", "damaged"])
def test_a_task_that_the_platform_sends_now_confirms_a_record(
    tmp_path: Path, platform: TaskSigner, proofs: list[str]
) -> None:
    ledger = remembered(tmp_path, *(replace(platform.sign("provision", access()), envelope=text) for text in proofs))
    ledger.confirm(platform.verify)
    task = platform.sign("sync_access", access(key=KEY))
    ledger.put(ledger.require_here("alc_1").with_access(parse_access(access(key=KEY)), task))
    assert [record.allocation_id for record in ledger.served()] == ["alc_1"]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("alc_1.json", {"allocation_id": "../../x"}),
        ("alc_2.json", {"allocation_id": "alc_1"}),
        ("alc_1.json", {"unknown": 1}),
    ],
)
def test_a_record_that_is_not_one_is_not_read(tmp_path: Path, name: str, changes: dict[str, object]) -> None:
    raw = {**asdict(AllocationRecord("alc_1", "baremetal", 1, "gpu")), **changes}
    durable.make_private_folder(tmp_path / "allocations")
    durable.write_json(tmp_path / "allocations" / name, raw)
    assert AllocationLedger(tmp_path).all() == []


def test_a_planted_marker_leads_no_later_write_to_another_place(tmp_path: Path) -> None:
    evil = {"text": "* * * * * root evil", "paths": ["/etc/cron.d/evil"]}
    raw = {**asdict(AllocationRecord("alc_1", "baremetal", 1, "gpu")), "marker": evil}
    durable.make_private_folder(tmp_path / "allocations")
    durable.write_json(tmp_path / "allocations/alc_1.json", raw)
    [record] = AllocationLedger(tmp_path).all()
    assert record.marker is None


def test_a_wipe_is_refused_while_another_allocation_is_served(tmp_path: Path, platform: TaskSigner) -> None:
    ledger = AllocationLedger(tmp_path)
    served = AllocationRecord("alc_next", "baremetal", 1, "gpu")
    ledger.put(served.with_proof(platform.sign("provision", access("alc_next"))))
    driver = HostDriver(Config(address="10.0.0.1", state_dir=tmp_path), ledger)
    context = TaskContext(Deadline.after(30), 1, lambda *_: "certificate")
    with pytest.raises(TaskFailure) as refused:
        driver.wipe(ReleaseSpec("alc_1", "baremetal", "gpu", ()), context)
    assert refused.value.code == "another_allocation_served"


def test_a_planted_record_does_not_keep_a_tenant_in_who_deleted_their_own(
    tmp_path: Path, platform: TaskSigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = remembered(tmp_path)
    ledger.confirm(platform.verify)
    driver = HostDriver(Config(address="10.0.0.1", state_dir=tmp_path), ledger)
    closed: list[str] = []
    monkeypatch.setattr(sshd.SshFiles, "deny_logins", lambda _: closed.append("logins"))
    monkeypatch.setattr(accounts, "disable_user", lambda user, _: closed.append(user))
    monkeypatch.setattr(driver, "_reload_or_stop_ssh", lambda _: "closed")
    plan = driver.deprovision(
        ReleaseSpec("alc_2", "baremetal", "gpu", ()), TaskContext(Deadline.after(30), 1, lambda *_: "")
    )
    assert plan.steps[0].run() == "closed"
    assert closed == ["logins", "gpu"]


@pytest.fixture
def own_state(tmp_path: Path) -> OwnState:
    source = tmp_path / "etc/agent.json"
    source.parent.mkdir()
    source.write_text('{"address": "10.0.0.1"}')
    config = Config(state_dir=tmp_path / "state", source=source, text='{"address": "10.0.0.1"}')
    ledger, journal = AllocationLedger(config.state_dir), TaskJournal(config.state_dir)
    durable.make_private_folder(config.state_dir / "baseline").chmod(0o755)
    durable.make_private_folder(config.state_dir / "baseline/blobs")
    durable.write_bytes(config.state_dir / "baseline/baseline.json", b"{}")
    config.state_dir.chmod(0o700)
    return OwnState(config, ledger, journal, lambda: {"node_id": NODE, "urls": ["https://here"], "ca_pem": ""})


BASELINE = hashlib.sha256(b"{}").hexdigest()


def test_everything_that_the_agent_did_not_write_is_named_and_then_removed(own_state: OwnState) -> None:
    state = own_state.config.state_dir
    own_state.ledger.put(AllocationRecord("alc_1", "baremetal", 1, "gpu"))
    (state / "evil/deep").mkdir(parents=True)
    (state / "allocations/alc_evil.json").write_text("{}")
    (state / "resources/.x.new").write_text("{}")
    (state / "node.json").symlink_to("/etc/passwd")
    (state / f"baseline/blobs/{'0' * 64}").write_text("another content")
    (state / "agent.key.next").mkdir()
    _, found = own_state.foreign_entries({"0" * 64}, BASELINE)
    named = {line.rpartition("/")[2] for line in found}
    assert {"evil", "alc_evil.json", ".x.new", "node.json", "0" * 64, "agent.key.next", "baseline"} <= named
    own_state.rewrite("alc_1", Restore(), {"0" * 64})
    assert own_state.foreign_entries({"0" * 64}, BASELINE)[1] == []
    assert json.loads((state / "node.json").read_text())["node_id"] == NODE
    assert (state / "baseline/baseline.json").read_bytes() == b"{}"


def test_a_record_that_was_changed_on_disk_is_named_and_written_anew_from_memory(own_state: OwnState) -> None:
    own_state.ledger.put(AllocationRecord("alc_1", "baremetal", 1, "gpu"))
    path = own_state.config.state_dir / "allocations/alc_1.json"
    path.write_text(path.read_text().replace("gpu", "evil"))
    (own_state.config.state_dir / "baseline").chmod(0o700)
    assert own_state.foreign_entries((), BASELINE)[1] == [f"changed {path}"]
    assert own_state.foreign_entries((), "0" * 64)[1][-1].startswith("changed ")
    own_state.rewrite("alc_1", Restore(), ())
    assert own_state.foreign_entries((), BASELINE)[1] == []


def test_identity_and_configuration_are_what_the_platform_sent(own_state: OwnState) -> None:
    identity = {"node_id": NODE, "urls": ["https://platform"], "task_keys": [], "tls_anchors": ["-----A-----\n"]}
    own_state.config.source.write_text("{}")
    own_state.rewrite("alc_1", Restore('{"address": "10.0.0.2"}', dict(identity)), ())
    stored_identity = json.loads((own_state.config.state_dir / "node.json").read_text())
    assert {key: stored_identity[key] for key in identity} == identity
    assert (stored_identity["ca_pem"], stored_identity["anchors_issued_at_ms"]) == ("-----A-----\n", 0)
    assert own_state.config.source.read_text() == '{"address": "10.0.0.2"}'
    own_state.rewrite("alc_1", Restore(), ())
    assert own_state.config.source.read_text() == '{"address": "10.0.0.1"}'  # as it was when the agent started
    assert json.loads((own_state.config.state_dir / "node.json").read_text())["urls"] == ["https://here"]


def test_a_rewrite_is_not_undone_by_a_change_of_another_thread(own_state: OwnState) -> None:
    """A heartbeat that stores anchors may read node.json before a wipe writes it, and write it afterwards."""
    node_file = own_state.config.state_dir / "node.json"
    stored_times, stop = Counter[str](), threading.Event()
    heartbeats = threading.Thread(target=_store_anchors_until, args=(own_state.config.state_dir, stop, stored_times))
    heartbeats.start()
    try:
        for number in range(30):
            own_state.rewrite("alc_1", Restore(None, {"node_id": NODE, "task_keys": [number]}), ())
            _wait_for_another_two(stored_times)
            assert json.loads(node_file.read_text())["task_keys"] == [number]
    finally:
        stop.set()
        heartbeats.join()


def _store_anchors_until(state_dir: Path, stop: threading.Event, stored_times: Counter[str]) -> None:
    while not stop.is_set():
        store_anchors(state_dir, Anchors(("-----A-----\n",), stored_times["anchors"]))
        stored_times["anchors"] += 1


def _wait_for_another_two(stored_times: Counter[str]) -> None:
    wanted, deadline = stored_times["anchors"] + 2, time.monotonic() + 60.0
    while stored_times["anchors"] < wanted:
        assert time.monotonic() < deadline, "the other thread stands still"
        time.sleep(0.001)
