"""What must outlive the agent: the highest generation of each resource, tasks not yet finished,
results not yet accepted by the server. One file a resource, so each step is one atomic rename.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_agent import durable
from gpuaas_agent.protocol import Envelope, SignedTask


@dataclass
class StoredTask:
    task: SignedTask
    generation: int
    result: dict[str, object] | None = None


@dataclass
class ResourceRecord:
    generation: int = -1
    tasks: dict[str, StoredTask] = field(default_factory=dict)


class TaskJournal:
    """Thread-safe; every method has reached the disk when it returns."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = durable.make_private_folder(state_dir / "resources")
        self._lock = threading.Lock()
        self._records = {
            path.stem: _record(durable.read_json(path) or {}) for path in sorted(self._folder.glob("*.json"))
        }

    def accept(self, task: SignedTask, envelope: Envelope) -> bool:
        """Remember the task before acting on it. False when a newer generation was seen."""
        with self._lock:
            record = self._records.setdefault(envelope.resource_id, ResourceRecord())
            if envelope.generation < record.generation:
                return False
            known = record.tasks.get(envelope.task_id)
            if known is None or envelope.generation > record.generation:
                record.generation = envelope.generation
                record.tasks.setdefault(envelope.task_id, StoredTask(task, envelope.generation))
                self._write(envelope.resource_id)
            return True

    def highest_generation(self, resource_id: str) -> int:
        with self._lock:
            record = self._records.get(resource_id)
            return record.generation if record else -1

    def store_result(self, task: SignedTask, envelope: Envelope, result: dict[str, object]) -> dict[str, object]:
        """Keep the result until the server has it. The first result of a task is the one."""
        with self._lock:
            record = self._records.setdefault(envelope.resource_id, ResourceRecord())
            stored = record.tasks.setdefault(envelope.task_id, StoredTask(task, envelope.generation))
            if stored.result is None:
                stored.result = result
                self._write(envelope.resource_id)
            return stored.result

    def forget_task(self, resource_id: str, task_id: str, *, keep_generation: bool = True) -> None:
        """The server has the result, or does not want it. The generation stays, unless the task only looked: a look that
        is repeated does no harm, and every receipt would leave a file behind.
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

    def open_tasks(self) -> list[tuple[str, StoredTask]]:
        """Every (resource id, task) that is unfinished or unreported, oldest generation first."""
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
        record = self._records[resource_id]
        durable.write_json(
            self._folder / f"{resource_id}.json",
            {
                "generation": record.generation,
                "tasks": {
                    task_id: {
                        "envelope": stored.task.envelope,
                        "kid": stored.task.kid,
                        "signature": stored.task.signature,
                        "generation": stored.generation,
                        "result": stored.result,
                    }
                    for task_id, stored in record.tasks.items()
                },
            },
        )


def _record(raw: dict[str, object]) -> ResourceRecord:
    generation, tasks = raw.get("generation"), raw.get("tasks")
    if not isinstance(generation, int) or not isinstance(tasks, dict):
        raise ValueError("a resource record of the agent's state is damaged")
    return ResourceRecord(
        generation,
        {
            str(task_id): StoredTask(
                SignedTask(entry["envelope"], entry["kid"], entry["signature"]),
                entry["generation"],
                entry["result"],
            )
            for task_id, entry in tasks.items()
        },
    )
