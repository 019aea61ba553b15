"""The task journal on disk: the highest generation of each resource, unfinished tasks, and results that the server has not
accepted yet. Each resource has one file, so that every change is one atomic rename.

A tenant who was root may have written these files. After a start, only what the platform signed counts.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_agent import durable, log, protocol
from gpuaas_agent.protocol import Envelope, SignedTask

# Returns the envelope of a task that the platform signed for this node; raises EnvelopeInvalid for any other.
Verify = Callable[[SignedTask], Envelope]
# Results of these kinds are proofs. A result from disk is not trusted; the task runs again.
_RUN_AGAIN = ("deprovision", "wipe", "verify_wipe")


@dataclass
class StoredTask:
    task: SignedTask
    generation: int
    result: dict[str, object] | None = None


@dataclass
class ResourceRecord:
    generation: int = -1
    tasks: dict[str, StoredTask] = field(default_factory=dict)
    proof: SignedTask | None = None  # the task with the highest generation


class TaskJournal:
    """The journal is thread-safe, and every change is on disk when its method returns."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = durable.make_private_folder(state_dir / "resources")
        self._lock = threading.Lock()
        self._records: dict[str, ResourceRecord] = {}

    def recover(self, verify: Verify) -> None:
        """Read the journal of an earlier agent. Only records with a valid signature are kept; others are removed."""
        with self._lock:
            for path in sorted(self._folder.iterdir()):
                resource_id = path.name.removesuffix(".json")
                record = _trusted_part(path, resource_id, verify)
                if record is None:
                    _remove_whatever(path)
                elif resource_id not in self._records:
                    self._records[resource_id] = record

    def accept(self, task: SignedTask, envelope: Envelope) -> bool:
        """Store the task before it runs. Returns False if a newer generation was seen."""
        with self._lock:
            record = self._records.setdefault(envelope.resource_id, ResourceRecord())
            if envelope.generation < record.generation:
                return False
            known = record.tasks.get(envelope.task_id)
            if known is None or envelope.generation > record.generation:
                record.generation, record.proof = envelope.generation, task
                record.tasks.setdefault(envelope.task_id, StoredTask(task, envelope.generation))
                self._write(envelope.resource_id)
            return True

    def highest_generation(self, resource_id: str) -> int:
        with self._lock:
            record = self._records.get(resource_id)
            return record.generation if record else -1

    def store_result(self, task: SignedTask, envelope: Envelope, result: dict[str, object]) -> dict[str, object]:
        """Store the result until the server has it. Only the first result of a task counts."""
        with self._lock:
            record = self._records.setdefault(envelope.resource_id, ResourceRecord())
            stored = record.tasks.setdefault(envelope.task_id, StoredTask(task, envelope.generation))
            if stored.result is None:
                stored.result = result
                self._write(envelope.resource_id)
            return stored.result

    def forget_task(self, resource_id: str, task_id: str, *, keep_generation: bool = True) -> None:
        """Forget a task whose result the server has or rejects. The generation stays, except for tasks that only read:
        repeating them is harmless, and each would leave a file behind.
        """
        with self._lock:
            record = self._records.get(resource_id)
            if record is None or record.tasks.pop(task_id, None) is None:
                return
            if keep_generation or record.tasks:
                self._write(resource_id)
            else:
                del self._records[resource_id]
                durable.remove(self._folder / f"{resource_id}.json")

    def newest_of_kind(self, kind: str) -> list[Envelope]:
        """Return the newest task of each resource, where it is of this kind; they were verified when they were read."""
        with self._lock:
            proofs = [record.proof for record in self._records.values() if record.proof is not None]
        envelopes = (protocol.parse_envelope(proof.envelope) for proof in proofs)
        return [envelope for envelope in envelopes if envelope.kind == kind]

    def forget_resource(self, resource_id: str) -> None:
        with self._lock:
            self._records.pop(resource_id, None)
            durable.remove(self._folder / f"{resource_id}.json")

    def keep_only(self, resource_ids: Collection[str]) -> None:
        """Forget other resources without running tasks, and write the rest again from memory."""
        with self._lock:
            for resource_id in list(self._records):
                if resource_id in resource_ids or self._records[resource_id].tasks:
                    self._write(resource_id)
                else:
                    del self._records[resource_id]

    def files(self) -> dict[str, bytes]:
        """Return the expected files of the folder: name → content."""
        with self._lock:
            return {f"{name}.json": durable.encode_json(_stored(record)) for name, record in self._records.items()}

    def open_tasks(self) -> list[tuple[str, StoredTask]]:
        """Return every (resource id, task) that is unfinished or unreported, oldest generation first."""
        with self._lock:
            found = [
                (resource_id, stored)
                for resource_id, record in self._records.items()
                for stored in record.tasks.values()
            ]
        return sorted(found, key=lambda pair: (pair[0], pair[1].generation))

    def stored_result(self, resource_id: str, task_id: str) -> dict[str, object] | None:
        with self._lock:
            record = self._records.get(resource_id)
            stored = record.tasks.get(task_id) if record else None
            return stored.result if stored else None

    def _write(self, resource_id: str) -> None:
        durable.write_json(self._folder / f"{resource_id}.json", _stored(self._records[resource_id]))


def task_on_disk(task: SignedTask) -> dict[str, object]:
    return {"envelope": task.envelope, "kid": task.kid, "signature": task.signature}


def task_from_disk(raw: object) -> SignedTask:
    if not isinstance(raw, dict):
        raise ValueError("there is no signed task")
    return SignedTask(str(raw["envelope"]), str(raw["kid"]), str(raw["signature"]))


def _stored(record: ResourceRecord) -> dict[str, object]:
    return {
        "generation": record.generation,
        "proof": task_on_disk(record.proof) if record.proof else None,
        "tasks": {
            task_id: {**task_on_disk(stored.task), "generation": stored.generation, "result": stored.result}
            for task_id, stored in record.tasks.items()
        },
    }


def _trusted_part(path: Path, resource_id: str, verify: Verify) -> ResourceRecord | None:
    """Return the part of a record that the platform signed for this resource; None if there is none."""
    record = ResourceRecord()
    try:
        raw = durable.read_json(path) if path.name.endswith(".json") else None
        tasks = (raw or {}).get("tasks")
        entries = [*(tasks.values() if isinstance(tasks, dict) else []), (raw or {}).get("proof")]
    except (OSError, ValueError) as problem:
        log.warning("stored_record_damaged", path=str(path), message=str(problem))
        return None
    for entry in entries:
        _add_trusted(record, entry, resource_id, verify)
    if record.proof is None:
        log.warning("stored_record_not_trusted", path=str(path))
        return None
    return record


def _add_trusted(record: ResourceRecord, entry: object, resource_id: str, verify: Verify) -> None:
    if entry is None:
        return
    try:
        task = task_from_disk(entry)
        envelope = verify(task)
        if envelope.resource_id != resource_id:
            raise protocol.EnvelopeInvalid("the task belongs to another resource")
    except (protocol.EnvelopeInvalid, ValueError, KeyError) as problem:
        log.error("stored_task_not_trusted", resource_id=resource_id, message=str(problem))
        return
    if envelope.generation > record.generation:
        record.generation, record.proof = envelope.generation, task
    if isinstance(entry, dict) and "result" in entry:
        result = entry["result"] if envelope.kind not in _RUN_AGAIN else None
        trusted = result if isinstance(result, dict) else None
        record.tasks[envelope.task_id] = StoredTask(task, envelope.generation, trusted)


def _remove_whatever(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        durable.remove(path)
