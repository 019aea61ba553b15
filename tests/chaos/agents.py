"""A rack of simulated agents as a process that keeps a journal: `python -m chaos.agents ARGUMENTS` (JSON).

The journal has every task as the hosts saw it, in their order. A rack that was killed reads it when it starts again, as
a real agent does: it refuses tasks that are older than the newest it has seen.
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from gpuaas_agent import tasks
from gpuaas_agent.protocol import Result
from gpuaas_agent.sim.fleet import SimFleet
from gpuaas_agent.sim.node import TaskReceipt


@dataclass(frozen=True, slots=True)
class RackOrder:
    name: str
    url: str
    bundle_file: str
    nodes: int
    gpus: int
    first_index: int
    journal: str
    delay_seconds: float

    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class SeenTask:
    """A line of the journal: a task that a host began."""

    at: float  # CLOCK_MONOTONIC of this machine, which all racks share
    node_id: str
    task_id: str
    kind: str
    resource_id: str
    generation: int
    slots: list[int]
    refused: bool


def read_journal(file: Path) -> list[SeenTask]:
    """A rack that was killed may have left half a line at the end of one of its lives: it saw nothing of it."""
    seen = []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            seen.append(SeenTask(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return seen


class Journal:
    def __init__(self, file: Path) -> None:
        self._newest: dict[str, int] = {}
        for task in read_journal(file):
            self._note(task.resource_id, task.generation)
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(self._file, b"\n")  # ends what a kill may have left

    def _note(self, resource_id: str, generation: int) -> None:
        self._newest[resource_id] = max(generation, self._newest.get(resource_id, -1))

    def note_task(self, receipt: TaskReceipt) -> Result | None:
        envelope = receipt.envelope
        newest = self._newest.get(envelope.resource_id, -1)
        refused = envelope.generation < newest
        given = envelope.spec.get("slots")
        slots = [slot["slot_index"] for slot in given] if isinstance(given, list) else []
        seen = SeenTask(
            time.monotonic(),
            receipt.node_id,
            envelope.task_id,
            envelope.kind,
            envelope.resource_id,
            envelope.generation,
            slots,
            refused,
        )
        os.write(self._file, json.dumps(asdict(seen)).encode() + b"\n")
        if refused:
            return tasks.stale_generation(envelope.generation, newest)
        self._note(envelope.resource_id, envelope.generation)
        return None


async def main(order: RackOrder, bundle: str) -> None:
    fleet = SimFleet(
        order.url,
        bundle.split(),
        nodes=order.nodes,
        gpus=order.gpus,
        on_task=Journal(Path(order.journal)).note_task,
        delay_seconds=order.delay_seconds,
        first_index=order.first_index,
        key_seed=order.name,
    )
    async with fleet:
        await asyncio.Event().wait()


if __name__ == "__main__":
    given = RackOrder(**json.loads(sys.argv[1]))
    asyncio.run(main(given, Path(given.bundle_file).read_text()))
