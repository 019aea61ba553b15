"""Logs over HTTP: people and programs read, agents bring."""

from typing import Annotated

from fastapi import Header, Query
from pydantic import AwareDatetime
from starlette.responses import Response

from gpuaas_server.instances.service import log_target
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.streams import LimitedStream
from gpuaas_server.kernel.ids import InstanceId, LogReadId, MemberId, ProjectId
from gpuaas_server.logs import service, streams
from gpuaas_server.logs.schemas import (
    CURSOR_PATTERN,
    MOST_LINES,
    SOURCE_PATTERN,
    LogPage,
    LogPortion,
    LogPortionAccepted,
    Order,
)
from gpuaas_server.logs.service import LogQuery, ReadContext
from gpuaas_server.nodes.schemas import SIGNED_CALL_PROBLEMS

router = api_router(tags=["logs"])
_SSE: dict[str, object] = {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "model": LogPage}
_PROBLEMS = ("not_active", "log_source_missing", "log_host_unavailable", "log_read_failed", "too_many_streams")

Member = Annotated[
    MemberId | None, Query(description="The member whose lines you want. Absent: the only member of the instance.")
]
Source = Annotated[str | None, Query(pattern=SOURCE_PATTERN, description="Only lines of this unit.")]
Since = Annotated[AwareDatetime | None, Query(description="Only lines from this time on, with an offset.")]
Until = Annotated[AwareDatetime | None, Query(description="Only lines up to this time, with an offset.")]
OrderOf = Annotated[
    Order, Query(description="`newest`: the newest lines, then older ones. `oldest`: the first lines, then newer ones.")
]
Limit = Annotated[int, Query(ge=1, le=MOST_LINES, description="Largest number of lines.")]
Position = Annotated[str | None, Query(pattern=CURSOR_PATTERN, description="From `next_cursor`, or of a line.")]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", pattern=CURSOR_PATTERN, description="Follow after this line; instead of `cursor`."),
]


@router.get(
    "/projects/{project_id}/instances/{instance_id}/logs",
    response_model=LogPage,
    responses={200: _SSE, **problem_responses(*_PROBLEMS)},
)
async def log_read(
    project_id: ProjectId,
    instance_id: InstanceId,
    call: Annotated[Call, admitted("log_read")],
    member: Member = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    order: OrderOf = "newest",
    limit: Limit = 100,
    cursor: Position = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Read the lines that a member's units wrote to its host's journal. With `Accept: text/event-stream` the answer follows:
    the newest `limit` lines, or those after `cursor`, and then each line as it is written.
    """
    async with call.platform.database.connection(call.admission.scope) as connection:
        target = await log_target(connection, call.caller, instance_id, member)
    service.refuse_lost_host(target)
    state = call.request.app.state
    scope, holder = call.admission.scope, state.terminals.address
    context = ReadContext(call.platform, scope, call.actor, target, state.log_readers, holder)
    query = LogQuery(source, since, until, last_event_id or cursor, order, limit)
    await call.pace_task()
    if "text/event-stream" in call.request.headers.get("accept", ""):
        stream = streams.log_stream(context, service.follow_query(query), call.is_still_admitted)
        return LimitedStream(stream, "text/event-stream", call.stream_limits, call.stream_owner, "logs")
    async with call.waiting(int(service.ANSWER_SECONDS)):
        return reply(await service.log_page(context, query))


@router.post(
    "/agent/logs/{read_id}", response_model=LogPortionAccepted, responses=problem_responses(*SIGNED_CALL_PROBLEMS)
)
async def agent_log_report(
    read_id: LogReadId, body: LogPortion, call: Annotated[Call, admitted("agent_log_report")]
) -> Response:
    """Bring lines that a task asked for. They are given to who waits for them, and never stored."""
    watched = await call.request.app.state.log_delivery.deliver(call.actor.id, read_id, body)
    return reply(LogPortionAccepted(watched=watched))
