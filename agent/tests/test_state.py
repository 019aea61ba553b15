"""What the agent remembers survives its death between any two system calls."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from gpuaas_agent import durable
from gpuaas_agent.allocations import AllocationLedger, AllocationRecord, Marker
from gpuaas_agent.protocol import SignedTask, parse_envelope
from gpuaas_agent.state import TaskJournal

CALLS = ("open", "write", "fchmod", "rename", "close")


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the writer runs after it."""


def task(task_id: str, generation: int) -> SignedTask:
    text = (
        f'{{"task_id":"{task_id}","node_id":"nod_1","kind":"wipe","resource_id":"alc_1",'
        f'"generation":{generation},"deadline":"2030-01-01T00:00:00Z","spec":{{}}}}'
    )
    return SignedTask(text, "k1", "c2ln")


def die_at_call(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The nth system call of a durable write does not return."""
    seen = 0

    def watch(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: object, **options: object) -> object:
            nonlocal seen
            seen += 1
            if seen == number:
                raise Killed
            return real(*arguments, **options)

        monkeypatch.setattr(os, name, call)

    for name in CALLS:
        watch(name)


@pytest.mark.parametrize("number", range(1, 12))
def test_a_kill_at_any_system_call_leaves_the_old_or_the_new_record(tmp_path: Path, number: int) -> None:
    journal = TaskJournal(tmp_path)
    first, second = task("tsk_1", 1), task("tsk_2", 2)
    journal.accept(first, parse_envelope(first.envelope))
    with pytest.MonkeyPatch.context() as monkeypatch:
        die_at_call(monkeypatch, number)
        with contextlib.suppress(Killed):
            journal.accept(second, parse_envelope(second.envelope))
    after = TaskJournal(tmp_path)
    assert after.highest_generation("alc_1") in (1, 2)
    assert len(after.open_tasks()) == after.highest_generation("alc_1")
    # The next agent must be able to write again.
    assert after.accept(second, parse_envelope(second.envelope))
    assert TaskJournal(tmp_path).highest_generation("alc_1") == 2


def test_an_older_generation_is_refused_after_a_restart(tmp_path: Path) -> None:
    newer, older = task("tsk_2", 5), task("tsk_1", 4)
    assert TaskJournal(tmp_path).accept(newer, parse_envelope(newer.envelope))
    assert not TaskJournal(tmp_path).accept(older, parse_envelope(older.envelope))


def test_the_same_task_is_accepted_again(tmp_path: Path) -> None:
    once = task("tsk_1", 1)
    journal = TaskJournal(tmp_path)
    assert journal.accept(once, parse_envelope(once.envelope))
    assert journal.accept(once, parse_envelope(once.envelope))
    assert len(journal.open_tasks()) == 1


def test_a_result_is_kept_until_the_server_has_it(tmp_path: Path) -> None:
    once = task("tsk_1", 1)
    envelope = parse_envelope(once.envelope)
    journal = TaskJournal(tmp_path)
    journal.accept(once, envelope)
    journal.store_result(once, envelope, {"status": "succeeded"})
    assert TaskJournal(tmp_path).stored_result("alc_1", "tsk_1") == {"status": "succeeded"}
    journal.forget_task("alc_1", "tsk_1")
    after = TaskJournal(tmp_path)
    assert after.open_tasks() == []
    assert after.highest_generation("alc_1") == 1


def test_the_first_result_of_a_task_stays(tmp_path: Path) -> None:
    once = task("tsk_1", 1)
    envelope = parse_envelope(once.envelope)
    journal = TaskJournal(tmp_path)
    journal.store_result(once, envelope, {"status": "succeeded"})
    assert journal.store_result(once, envelope, {"status": "failed"}) == {"status": "succeeded"}


def test_files_of_the_agent_are_readable_by_root_alone(tmp_path: Path) -> None:
    durable.write_json(tmp_path / "x.json", {})
    assert (tmp_path / "x.json").stat().st_mode & 0o777 == 0o600


def test_a_living_agent_does_not_forget_a_record_that_was_deleted(tmp_path: Path) -> None:
    ledger = AllocationLedger(tmp_path)
    record = AllocationRecord("alc_1", "baremetal", 1, "gpu", marker=Marker("text", ("/var/tmp/x",)))
    ledger.put(record)
    (tmp_path / "allocations/alc_1.json").unlink()
    assert ledger.get("alc_1") == record


def test_an_allocation_record_is_the_same_after_a_restart(tmp_path: Path) -> None:
    record = AllocationRecord("alc_1", "gpu_slice", 1, "gpu", address="10.0.0.1", marker=Marker("t", ("/a", "/b")))
    AllocationLedger(tmp_path).put(record)
    assert AllocationLedger(tmp_path).get("alc_1") == record


def test_a_resource_that_was_only_looked_at_leaves_no_file_behind(tmp_path: Path) -> None:
    journal = TaskJournal(tmp_path)
    first, second = task("tsk_1", 1), task("tsk_2", 2)
    for one in (first, second):
        journal.accept(one, parse_envelope(one.envelope))
    journal.forget_task("alc_1", "tsk_1", keep_generation=False)
    assert journal.highest_generation("alc_1") == 2  # another task is still open
    journal.forget_task("alc_1", "tsk_2", keep_generation=False)
    assert list((tmp_path / "resources").iterdir()) == []
    assert TaskJournal(tmp_path).highest_generation("alc_1") == -1
