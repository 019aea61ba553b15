"""The live timeline of an instance: what happened, oldest first; with `wait`, also what happens next."""

import asyncio
from contextlib import suppress

from gpuaas_server.instances import queries
from gpuaas_server.instances.held import topic
from gpuaas_server.instances.schemas import InstanceTimeline, TimelineEvent
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import not_found


async def instance_timeline(
    platform: Platform, scope: Scope, project_id: str, instance_id: str, after: str | None, wait: float, limit: int
) -> InstanceTimeline:
    deadline = asyncio.get_running_loop().time() + wait
    async with platform.wakeups.waiting(topic(instance_id)) as woken:
        while True:
            woken.clear()
            async with platform.database.connection(scope) as connection:
                if await queries.instance_show(connection, project_id, instance_id) is None:
                    raise not_found("instance", instance_id)
                rows = await queries.event_list(connection, instance_id, after, limit)
            left = deadline - asyncio.get_running_loop().time()
            if rows or left <= 0 or platform.wakeups.ending:
                items = [TimelineEvent(**row) for row in rows]
                return InstanceTimeline(
                    instance_id=instance_id, items=items, next_cursor=items[-1].id if items else after
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), min(left, 15.0))
