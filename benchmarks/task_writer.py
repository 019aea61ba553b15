"""Writes host tasks at a steady pace, as a process that serves no agent: `python -m benchmarks.task_writer`.

Its wake-ups reach the api replicas over LISTEN/NOTIFY alone. Order on stdin, {task id: time} on stdout.
"""

import asyncio
import json
import random
import sys
import time
from datetime import timedelta

import uvloop

from gpuaas_server.host_tasks.service import task_create
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform

MOST_AT_ONCE = 8  # a machine that cannot keep the pace writes fewer; the delay of each counts all the same


async def _write(platform: Platform, node_id: str, written: dict[str, float], turn: asyncio.Semaphore) -> None:
    """The time is taken just before the COMMIT is sent, so that the commit itself counts as delay."""
    resource_id = new_id("alc")
    async with turn, platform.transaction(PLATFORM, system_actor("benchmark")) as tx:
        task_id = await task_create(
            tx,
            node_id=node_id,
            tenant_id="benchmark",
            kind="sync_access",
            resource_id=resource_id,
            generation=1,
            spec={"allocation_id": resource_id, "shape": "baremetal", "login_user": "gpu", "grants": []},
            deadline=tx.now + timedelta(minutes=10),
            notify_kind="allocation",
            notify_subject=resource_id,
        )
        written[task_id] = time.time()


async def _main() -> None:
    order = json.loads(sys.stdin.readline())
    written: dict[str, float] = {}
    pause, turn = 1 / order["rate"], asyncio.Semaphore(MOST_AT_ONCE)
    async with running_platform(Settings()) as platform:
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(int(order["rate"] * order["seconds"])):
                await asyncio.sleep(max(0.0, begun + number * pause - time.monotonic()))
                group.create_task(_write(platform, random.choice(order["nodes"]), written, turn))
        await asyncio.sleep(0.2)
    print(json.dumps(written), flush=True)


if __name__ == "__main__":
    uvloop.run(_main())
