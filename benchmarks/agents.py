"""Simulated agents in a separate process: `python -m benchmarks.agents`, order on stdin, receipts as JSON on stdout.

It prints `enrolled N` on stderr during the enrolment and ends when stdin is closed.
"""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass

from gpuaas_agent.protocol import Result
from gpuaas_agent.sim.fleet import SimFleet
from gpuaas_agent.sim.node import TaskReceipt


@dataclass(frozen=True, slots=True)
class AgentOrder:
    url: str
    bundle: str
    nodes: int
    first_index: int

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def _progress(fleet: SimFleet) -> None:
    while True:
        await asyncio.sleep(1)
        _say(f"enrolled {sum(node.ready.is_set() for node in fleet.nodes)}")


async def _main() -> None:
    order = AgentOrder(**json.loads(sys.stdin.readline()))
    received: dict[str, float] = {}

    def note(receipt: TaskReceipt) -> Result | None:
        received[receipt.envelope.task_id] = receipt.received_at
        return None

    fleet = SimFleet(
        order.url,
        order.bundle,
        nodes=order.nodes,
        gpus=8,
        on_task=note,
        first_index=order.first_index,
        enrol_at_once=16,
    )
    telling = asyncio.create_task(_progress(fleet))
    async with fleet:
        telling.cancel()
        _say(f"ready {json.dumps([node.node_id for node in fleet.nodes])}")
        await asyncio.to_thread(sys.stdin.read)
    print(json.dumps(received), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())  # not uvloop: its transports are none of asyncio's, which the simulated nodes insist on
