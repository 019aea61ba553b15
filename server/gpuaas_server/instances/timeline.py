"""The timeline of an instance: what happened, oldest first; with `wait`, also what happens next."""

from collections.abc import Sequence

from psycopg.rows import DictRow

from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import queries
from gpuaas_server.instances.schemas import InstanceTimeline, TimelineEvent
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.wakeups import Look
from gpuaas_server.operations import service as operations

TimelineEntry = tuple[str, str, dict[str, object]]  # type, subject, data


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

    rows = await platform.wakeups.first(operations.instance_topic(instance_id), look, wait)
    items = [TimelineEvent(**row) for row in rows]
    return InstanceTimeline(instance_id=instance_id, items=items, next_cursor=items[-1].id if items else after)


async def record_events(tx: Tx, about: DictRow, entries: Sequence[TimelineEntry]) -> None:
    """Write to the timeline of an instance and to the log of its project; `about` is any row that names both."""
    if not entries:
        return
    instance_id = about.get("instance_id") or about["id"]
    same = {"tenant_id": about["tenant_id"], "instance_id": instance_id, "at": tx.now, "actor": tx.actor.id}
    same["correlation_id"] = tx.actor.correlation_id
    rows = [{**same, "id": new_id("iev"), "type": kind, "subject": one, "data": data} for kind, one, data in entries]
    tx.later.insert(queries.EVENT_INSERT, rows)
    facts = {"instance_id": instance_id, "app": about["app_slug"]}
    place = (about["tenant_id"], about["project_id"])
    await emit(tx, *(NewEvent(kind, one, *place, {**facts, **data}) for kind, one, data in entries))
    tx.wakeups.add(operations.instance_topic(instance_id))
