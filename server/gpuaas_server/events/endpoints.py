"""Watch: GET …/events with a cursor and wait, or the same as server-sent events."""

from typing import Annotated

from fastapi import Header, Query
from starlette.responses import Response

from gpuaas_server.events import service, streams
from gpuaas_server.events.schemas import EventPage
from gpuaas_server.events.service import EventFilter, EventPosition
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.streams import LimitedStream
from gpuaas_server.kernel.ids import ProjectId

router = api_router(tags=["events"])

After = Annotated[
    str | None,
    Query(
        pattern=r"^[0-9]{1,19}\.[0-9]{1,19}$",
        description="Cursor of the last event that you have. Absent: from the oldest stored event.",
    ),
]
Wait = Annotated[int, Query(ge=0, le=60, description="Seconds to wait for the first event.")]
Limit = Annotated[int, Query(ge=1, le=500, description="Largest number of events.")]
Tail = Annotated[
    int | None,
    Query(
        ge=0, le=500, description="Number of newest events to return instead. 0: only a cursor to continue from now."
    ),
]
Subject = Annotated[
    str | None, Query(pattern="^[a-z]{2,3}_[0-9a-z]{26}$", description="Only events about the resource with this id.")
]
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", pattern=r"^[0-9]{1,19}\.[0-9]{1,19}$", description="The same as `after`.")
]
_SSE: dict[str, object] = {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "model": EventPage}


@router.get(
    "/projects/{project_id}/events",
    response_model=EventPage,
    responses={200: _SSE, **problem_responses("invalid_cursor", "too_many_streams")},
)
async def project_event_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("project_event_list")],
    after: After = None,
    wait: Wait = 0,
    limit: Limit = 100,
    subject: Subject = None,
    tail: Tail = None,
    last_event_id: LastEventId = None,
) -> Response:
    """List the events of a project, oldest first. With `Accept: text/event-stream` the answer is an endless stream."""
    return await _events(call, EventFilter(project_id, subject), last_event_id or after, wait, limit, tail)


@router.get(
    "/events",
    response_model=EventPage,
    responses={200: _SSE, **problem_responses("invalid_cursor", "too_many_streams")},
)
async def platform_event_list(
    call: Annotated[Call, admitted("platform_event_list")],
    after: After = None,
    wait: Wait = 0,
    limit: Limit = 100,
    subject: Subject = None,
    tail: Tail = None,
    last_event_id: LastEventId = None,
) -> Response:
    """List the events of the whole platform, for operators."""
    return await _events(call, EventFilter(None, subject), last_event_id or after, wait, limit, tail)


async def _events(
    call: Call, wanted: EventFilter, after: str | None, wait: int, limit: int, tail: int | None
) -> Response:
    if tail is not None:
        return reply(await service.event_tail(call.platform, call.admission.scope, wanted, tail))
    position = service.parse_cursor(after) or EventPosition()
    scope = call.admission.scope
    if "text/event-stream" in call.request.headers.get("accept", ""):
        stream = streams.event_stream(call.platform, scope, wanted, position, call.is_still_admitted)
        return LimitedStream(stream, "text/event-stream", call.stream_limits, call.stream_owner, "watch")
    async with call.waiting(wait):
        return reply(await service.event_page(call.platform, scope, wanted, position, wait, limit))
