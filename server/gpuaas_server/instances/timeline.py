"""The live timeline of an instance: what happened, oldest first; with `wait`, also what happens next."""

from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.identity import service as identity
from gpuaas_server.instances import queries
from gpuaas_server.instances.held import topic
from gpuaas_server.instances.schemas import InstanceTimeline, TimelineEvent
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.wakeups import Look


async def instance_timeline(
    platform: Platform,
    scope: Scope,
    caller: Caller,
    project_id: str,
    instance_id: str,
    after: str | None,
    wait: float,
    limit: int,
) -> InstanceTimeline:
    seen = identity.apps_in_sight(caller)

    async def look() -> Look[list[DictRow]]:
        async with platform.database.connection(scope) as connection:
            if await queries.instance_seen(connection, project_id, instance_id, seen) is None:
                raise not_found("instance", instance_id)
            rows = await queries.event_list(connection, instance_id, after, limit)
        return Look(rows, bool(rows))

    items = [TimelineEvent(**row) for row in await platform.wakeups.first(topic(instance_id), look, wait)]
    return InstanceTimeline(instance_id=instance_id, items=items, next_cursor=items[-1].id if items else after)


async def timelines_forget(tx: Tx, before: datetime, portion: int) -> int:
    return await queries.event_delete_before(tx.connection, before, portion)
