"""The verbs of logs: read a page, follow, and take what a host brings. Lines are only ever in memory."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.instances.service import LogTarget
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.failures import NOT_REPORTED
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.logs.readers import LogReader, LogReaders, Portion
from gpuaas_server.logs.schemas import LEVELS, MOST_LINES, LogLine, LogPage, Order, PortionLine
from gpuaas_server.logs.text import shown_text
from gpuaas_server.logs.tickets import Ticket, write_ticket
from gpuaas_server.work import leases

WORK = "log_read"
TASK = "logs"
# A host has so long to bring the first lines; its agent reads for 5 s at most.
ANSWER_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Describes which lines of a member somebody wants."""

    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    cursor: str | None = None
    order: Order = "newest"
    limit: int = 100
    follow: bool = False


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Holds what a read needs besides its query: who reads what, at which process."""

    platform: Platform
    scope: Scope
    actor: Actor
    target: LogTarget
    readers: LogReaders
    holder: str


def topic(read_id: str) -> str:
    return f"log_read:{read_id}"


async def log_page(context: ReadContext, query: LogQuery) -> LogPage:
    """Ask the member's host for one page, and wait for it."""
    read_id = new_id("lgr")
    async with AsyncExitStack() as stack:
        reader = stack.enter_context(
            context.readers.reading(read_id, context.target.node_id, context.target.allocation_id)
        )
        woken = await stack.enter_async_context(context.platform.wakeups.waiting(topic(read_id)))
        await ask_host(context, read_id, 1, query)
        portion = await wait_for_lines(context, read_id, reader, woken, ANSWER_SECONDS)
    if portion is None:
        raise _no_answer(context.target)
    return _page(context.target.member_id, query, portion)


async def ask_host(context: ReadContext, read_id: str, generation: int, query: LogQuery) -> None:
    """Write the task, and once for each read its audit row."""
    platform = context.platform
    async with platform.transaction(context.scope, context.actor) as tx:
        await _send_task(tx, context, read_id, generation, query)
        if generation == 1:
            leases.enqueue_new(tx, WORK, [read_id], context.target.tenant_id)
            await record(tx, _entry(context.target, query))
        tx.audited = True


async def _send_task(tx: Tx, context: ReadContext, read_id: str, generation: int, query: LogQuery) -> None:
    target = context.target
    ticket = Ticket(read_id, target.member_id, target.node_id, context.holder)
    since = target.since if query.since is None else max(query.since, target.since)
    spec: dict[str, object] = {
        "read_id": read_id,
        "ticket": write_ticket(context.platform.sealer, ticket, tx.now),
        "allocation_id": target.allocation_id,
        "shape": target.shape,
        "units": list(target.units),
        "source": query.source,
        "since": _microseconds(since),
        "until": None if query.until is None else _microseconds(query.until),
        "cursor": query.cursor,
        "order": query.order,
        "limit": query.limit,
        "follow": query.follow,
    }
    await host_tasks.task_create(
        tx,
        node_id=target.node_id,
        tenant_id=target.tenant_id,
        kind=TASK,
        resource_id=read_id,
        generation=generation,
        spec=spec,
        deadline=tx.now + timedelta(seconds=ANSWER_SECONDS),
        notify_kind=WORK,
        notify_subject=read_id,
    )


def _entry(target: LogTarget, query: LogQuery) -> AuditEntry:
    """Return the audit entry of a read. Each read has one, even of a few lines: repeated, they would be a whole log."""
    details: dict[str, object] = {"member_id": target.member_id, "follow": query.follow, "limit": query.limit}
    return AuditEntry("log_read", target.instance_id, target.tenant_id, target.project_id, details=details)


async def wait_for_lines(
    context: ReadContext, read_id: str, reader: LogReader, woken: asyncio.Event, seconds: float
) -> Portion | None:
    """Return what the host brings first; None when the time is over. Raises what the host says instead."""
    ends = asyncio.get_running_loop().time() + seconds
    arrived = asyncio.create_task(reader.arrived.wait())
    try:
        while (left := ends - asyncio.get_running_loop().time()) > 0:
            called = asyncio.create_task(woken.wait())
            await asyncio.wait([arrived, called], timeout=left, return_when=asyncio.FIRST_COMPLETED)
            called.cancel()
            if (portion := reader.take()) is not None or context.platform.wakeups.ending:
                return portion
            if woken.is_set():
                woken.clear()
                await _raise_failure(context, read_id)
        return None
    finally:
        arrived.cancel()


async def _raise_failure(context: ReadContext, read_id: str) -> None:
    async with context.platform.database.connection(context.scope) as connection:
        task = (await host_tasks.newest_tasks(connection, [read_id])).get(read_id)
    if task is None or task.status in ("pending", "succeeded", "superseded"):
        return
    if task.status == "expired":
        raise _no_answer(context.target)
    failure = task.failure or NOT_REPORTED
    code, message = str(failure.get("code")), shown_text(str(failure.get("message") or ""))[:300]
    if code == "task_kind_unknown":
        raise Problem("log_read_failed", "The agent of this host is too old to read logs.", {"host_code": code})
    if code == "too_many_log_readers":
        raise Problem("too_many_streams", f"{message}.", {"limit": "host"})
    raise Problem("log_read_failed", f"{message.rstrip('.')}.", {"host_code": code[:60]})


def _no_answer(target: LogTarget) -> Problem:
    detail = f"The host of member {target.member_id} did not answer within {ANSWER_SECONDS:.0f} s."
    return Problem("log_host_unavailable", detail, {"member_id": target.member_id})


def refuse_lost_host(target: LogTarget) -> None:
    """Refuse at once while the platform knows that the host is lost."""
    if target.lost_since is not None:
        at = target.lost_since.isoformat(timespec="seconds")
        raise Problem(
            "log_host_unavailable",
            f"The host of member {target.member_id} has not answered since {at}.",
            {"member_id": target.member_id},
        )


def portion_of(member_id: str, lines: Sequence[PortionLine], left_out: int, more: bool) -> Portion:
    """Make a host's lines fit to show. It costs time, so the caller knows that somebody reads them."""
    return Portion([_line(member_id, line) for line in lines], left_out, more)


def _line(member_id: str, line: PortionLine) -> LogLine:
    return LogLine(
        cursor=line.cursor,
        at=datetime.fromtimestamp(min(line.at, _LATEST) / 1_000_000, UTC),
        member_id=member_id,
        source=shown_text(line.source),
        level=None if line.priority is None else LEVELS[line.priority],
        text=shown_text(line.text),
        cut=line.cut,
    )


def _page(member_id: str, query: LogQuery, portion: Portion) -> LogPage:
    lines = portion.lines
    end = None if not lines else lines[0] if query.order == "newest" else lines[-1]
    return LogPage(
        member_id=member_id,
        lines=lines,
        next_cursor=end.cursor if portion.more and end is not None else None,
        newest_cursor=lines[-1].cursor if lines else None,
        left_out=portion.left_out,
    )


_LATEST = 250_000_000_000_000_000  # the year 9892: beyond it there is no datetime


def _microseconds(moment: datetime) -> int:
    return max(0, int(moment.timestamp() * 1_000_000))


def follow_query(query: LogQuery) -> LogQuery:
    """Return the query of a stream: after its cursor, from its time on, or with the newest lines first."""
    if query.cursor is not None or query.since is not None:
        return replace(query, follow=True, order="oldest", limit=MOST_LINES, until=None)
    return replace(query, follow=True, order="newest", until=None)


def after_cursor(query: LogQuery, cursor: str | None) -> LogQuery:
    """Return the query of a stream that goes on after a line that it has shown."""
    return query if cursor is None else replace(query, cursor=cursor, order="oldest", limit=MOST_LINES)
