"""The timeline of an instance: what happened, oldest first; with `wait`, also what happens next."""

from collections.abc import Sequence

from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import queries
from gpuaas_server.instances.rows import NewTimelineEvent, TimelineEventRow
from gpuaas_server.instances.schemas import InstanceTimeline, TimelineEvent
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.wakeups import PollResult
from gpuaas_server.operations import service as operations

TimelineEntry = tuple[str, str, dict[str, object]]  # type, subject, data


@dataclass(frozen=True, slots=True)
class InstanceRef:
    """The instance whose timeline an event enters, and where its project's log is."""

    id: str
    tenant_id: str
    project_id: str
    app_slug: str


async def instance_timeline(
    platform: Platform,
    scope: Scope,
    caller: Caller,
    instance_id: str,
    after: str | None,
    wait: float,
    limit: int,
) -> InstanceTimeline:
    seen = identity.visible_apps(caller)

    async def read() -> PollResult[list[TimelineEventRow]]:
        async with platform.database.connection(scope) as connection:
            if await queries.instance_seen(connection, caller.project_id, instance_id, seen) is None:
                raise not_found("instance", instance_id)
            rows = await queries.event_list(connection, instance_id, after, limit)
        return PollResult(rows, bool(rows))

    rows = await platform.wakeups.long_poll(operations.instance_topic(instance_id), read, wait)
    items = [TimelineEvent(**fields_of(row)) for row in rows]
    return InstanceTimeline(instance_id=instance_id, items=items, next_cursor=items[-1].id if items else after)


async def record_events(tx: Tx, about: InstanceRef, entries: Sequence[TimelineEntry]) -> None:
    """Write to the timeline of an instance and to the log of its project, and wake those who follow it."""
    if not entries:
        return
    tenant, by, correlation = about.tenant_id, tx.actor.id, tx.actor.correlation_id
    rows = [
        NewTimelineEvent(new_id("iev"), tx.now, kind, subject, by, correlation, data, tenant, about.id)
        for kind, subject, data in entries
    ]
    tx.later.insert(queries.EVENT_INSERT, rows)
    facts: dict[str, object] = {"instance_id": about.id, "app": about.app_slug}
    place = (tenant, about.project_id)
    await emit(tx, *(NewEvent(kind, one, *place, {**facts, **data}) for kind, one, data in entries))
    tx.wakeups.add(operations.instance_topic(about.id))
