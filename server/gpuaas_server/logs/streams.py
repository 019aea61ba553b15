"""Follow: a member's lines as server-sent events. A host that falls silent is asked again, from the last line shown."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress

import orjson

from gpuaas_server.kernel.database_health import OUTAGE_ERRORS
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.logs.readers import Portion
from gpuaas_server.logs.schemas import LogLine
from gpuaas_server.logs.service import (
    ANSWER_SECONDS,
    LogQuery,
    ReadContext,
    after_cursor,
    ask_host,
    refuse_lost_host,
    topic,
    wait_for_lines,
)

QUIET_SECONDS = 10.0  # a comment keeps the connection alive
# Two signs of life of an agent that follows; see ALIVE_SECONDS there.
SILENCE_SECONDS = 25.0
RIGHTS_SECONDS = 5.0
MOST_TRIES = 3  # to ask a host that does not answer


async def log_stream(
    context: ReadContext, query: LogQuery, allowed: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """Stream lines until the reader leaves, loses the right, or the host has nothing to say any more."""
    yield b": stream open\n\n"
    try:
        with suppress(
            *OUTAGE_ERRORS
        ):  # the stream ends; the client reconnects with its last cursor, and gets the error then
            async for frame in _follow(context, query, allowed):
                yield frame
    except Problem as problem:
        yield _ended(problem)


async def _follow(
    context: ReadContext, query: LogQuery, allowed: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    read_id = new_id("lgr")
    wakeups = context.platform.wakeups
    async with AsyncExitStack() as stack:
        reader = stack.enter_context(
            context.readers.reading(read_id, context.target.node_id, context.target.allocation_id)
        )
        woken = await stack.enter_async_context(wakeups.waiting(topic(read_id)))
        generation, tries, cursor = 1, 1, query.cursor
        await ask_host(context, read_id, generation, query)
        heard = checked = time.monotonic()
        while not wakeups.ending:
            timeout = QUIET_SECONDS if tries == 0 else ANSWER_SECONDS
            portion = await wait_for_lines(context, read_id, reader, woken, timeout)
            if time.monotonic() - checked > RIGHTS_SECONDS:
                if not await allowed():
                    return
                checked = time.monotonic()
            if portion is not None:
                heard, tries = time.monotonic(), 0
                cursor = portion.lines[-1].cursor if portion.lines else cursor
                yield _frames(portion)
                await asyncio.sleep(0)
                continue
            yield b": still here\n\n"
            if time.monotonic() - heard > SILENCE_SECONDS or tries:
                refuse_lost_host(context.target)
                if tries >= MOST_TRIES:
                    raise Problem("log_host_unavailable", f"The host of member {context.target.member_id} fell silent.")
                generation, tries = generation + 1, tries + 1
                await ask_host(context, read_id, generation, after_cursor(query, cursor))


def _frames(portion: Portion) -> bytes:
    if not portion.lines and not portion.left_out:
        return b": still here\n\n"
    left_out = _frame("left_out", {"lines": portion.left_out}) if portion.left_out else b""
    return left_out + b"".join(map(_line, portion.lines))


def _line(line: LogLine) -> bytes:
    body = line.__pydantic_serializer__.to_json(line)
    return b"id: " + line.cursor.encode() + b"\nevent: line\ndata: " + body + b"\n\n"


def _ended(problem: Problem) -> bytes:
    about: dict[str, object] = {
        "code": problem.code,
        "message": problem.detail,
        "next_step": problem.kind.next_step,
        "retryable": problem.kind.retryable,
    }
    return _frame("ended", about)


def _frame(event: str, data: dict[str, object]) -> bytes:
    return b"event: " + event.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
