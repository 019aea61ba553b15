"""The verbs of people: open a terminal, list, close. How a live one is relayed is in holder_lease.py and relay.py."""

from datetime import datetime, timedelta

from gpuaas_server.access.service import require_allocation, target_of
from gpuaas_server.allocations.service import allocation_hosts
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.terminals import queries
from gpuaas_server.terminals.machine import End, end
from gpuaas_server.terminals.rows import TerminalRow
from gpuaas_server.terminals.schemas import Terminal, TerminalOpen
from gpuaas_server.work import leases

WORK = "terminal"
TASK = "terminal"


def topic(terminal_id: str) -> str:
    return f"terminal:{terminal_id}"


async def may_open(connection: Connection, caller: Caller, actor: Actor, project_id: str, allocation_id: str) -> bool:
    allocation = await require_allocation(connection, project_id, allocation_id)
    return identity.is_permitted(caller, "terminal_open", own=allocation.created_by == actor.id)


async def terminal_open(tx: Tx, caller: Caller, allocation_id: str, body: TerminalOpen, settings: Settings) -> Terminal:
    """Write the row, and a task for the host: its agent comes within moments and brings the stream."""
    allocation = await require_allocation(tx.connection, caller.project_id, allocation_id)
    target_of(allocation)
    if not identity.is_permitted(caller, "terminal_open", own=allocation.created_by == tx.actor.id):
        raise Problem(
            "forbidden",
            "This is somebody else's allocation.",
            {"needs": identity.grants_needed_on_others("terminal_open")},
        )
    await _refuse_too_many(tx, allocation_id, settings)
    open_by = tx.now + timedelta(seconds=settings.terminal_open_seconds)
    row = TerminalRow(
        id=new_id("trm"),
        tenant_id=allocation.tenant_id,
        project_id=caller.project_id,
        allocation_id=allocation_id,
        node_id=allocation.node_id,
        status="requested",
        opened_by=tx.actor.id,
        opened_by_kind=tx.actor.kind,
        opened_by_name=tx.actor.name,
        address=tx.actor.address,
        columns=body.columns,
        rows=body.rows,
        idle_seconds=settings.terminal_idle_seconds,
        max_seconds=settings.terminal_max_seconds,
        open_by=open_by,
        correlation_id=tx.actor.correlation_id,
        created_at=tx.now,
    )
    tx.later.insert(queries.TERMINAL_INSERT, [fields_of(row)])
    await _ask_host(tx, row)
    leases.enqueue_new(tx, WORK, [row.id])
    details: dict[str, object] = {"allocation_id": allocation_id}
    await record(tx, AuditEntry("terminal_open", row.id, allocation.tenant_id, caller.project_id, details=details))
    return _terminal(row, caller, tx.actor)


async def _refuse_too_many(tx: Tx, allocation_id: str, settings: Settings) -> None:
    live = await queries.live_counts(tx.connection, allocation_id, tx.actor.id)
    if live.on_allocation >= settings.terminals_per_allocation:
        raise Problem("too_many_terminals", f"The allocation has {live.on_allocation} open terminals.")
    if live.of_user >= settings.terminals_per_user:
        raise Problem("too_many_terminals", f"You have {live.of_user} open terminals.")


async def _ask_host(tx: Tx, row: TerminalRow) -> None:
    """Send the host its task. It has no secret: the node's own key decides who may bring the stream, once."""
    hosts = await allocation_hosts(tx.connection, [row.allocation_id])
    spec: dict[str, object] = {
        "terminal_id": row.id,
        "allocation_id": row.allocation_id,
        "shape": hosts[row.allocation_id].shape,
    }
    await host_tasks.task_create(
        tx,
        node_id=row.node_id,
        tenant_id=row.tenant_id,
        kind=TASK,
        resource_id=row.id,
        generation=1,
        spec=spec,
        deadline=row.open_by,
        notify_kind=WORK,
        notify_subject=row.id,
    )


async def terminal_list(
    connection: Connection,
    caller: Caller,
    actor: Actor,
    allocation_id: str,
    page: PageRequest,
) -> Page[Terminal]:
    await require_allocation(connection, caller.project_id, allocation_id)
    rows = await queries.terminal_list(connection, caller.project_id, allocation_id, page)
    return Page[Terminal].of([_terminal(row, caller, actor) for row in rows], page)


async def terminal_close(tx: Tx, caller: Caller, allocation_id: str, terminal_id: str) -> Terminal:
    """Close the terminal. Closing one that has ended is no error, and changes nothing."""
    row = await terminal_row(tx.connection, caller.project_id, allocation_id, terminal_id)
    own = row.opened_by == tx.actor.id
    if not identity.is_permitted(caller, "terminal_close", own=own):
        raise Problem(
            "forbidden",
            "This is somebody else's terminal.",
            {"needs": identity.grants_needed_on_others("terminal_close")},
        )
    if row.status != "ended":
        by = "" if own else f"The terminal was closed by {tx.actor.name}."
        await terminals_end(tx, [terminal_id], end("closed", by))
    row = await terminal_row(tx.connection, caller.project_id, allocation_id, terminal_id)
    if not tx.audited:
        await record(tx, AuditEntry("terminal_close", terminal_id, row.tenant_id, caller.project_id))
    return _terminal(row, caller, tx.actor)


async def terminal_row(connection: Connection, project_id: str, allocation_id: str, terminal_id: str) -> TerminalRow:
    row = await queries.terminal_show(connection, project_id, allocation_id, terminal_id)
    if row is None:
        raise not_found("terminal", terminal_id)
    return row


async def terminals_end(tx: Tx, terminal_ids: list[str], why: End) -> list[TerminalRow]:
    """End the terminals; nothing else does. Their holder hears of it at once, and hangs up on both sides."""
    ended = await queries.terminals_end(tx.connection, terminal_ids, why.reason, why.message, why.exit_status, tx.now)
    if ended:
        await record(tx, *(_ended_entry(row) for row in ended))
        await emit(tx, *(_event("allocation.terminal_ended", row) for row in ended))
        tx.wakeups.update(topic(row.id) for row in ended)
    return ended


def stored_end(row: TerminalRow) -> End:
    """Return why a terminal ended, as its row says; the table insists on a reason."""
    return End(row.reason or "interrupted", row.message or "", row.exit_status)


def _ended_entry(row: TerminalRow) -> AuditEntry:
    began = row.opened_at or row.created_at
    details: dict[str, object] = {
        "why": row.reason,
        "allocation_id": row.allocation_id,
        "opened_by": row.opened_by,
        "from": row.address,
        "seconds": round(((row.ended_at or began) - began).total_seconds(), 1),
        "bytes_in": row.bytes_in,
        "bytes_out": row.bytes_out,
        "exit_status": row.exit_status,
    }
    return AuditEntry("terminal_close", row.id, row.tenant_id, row.project_id, details=details)


def _event(kind: str, row: TerminalRow) -> NewEvent:
    """Build an event about the allocation: that is what people watch."""
    data: dict[str, object] = {"terminal_id": row.id, "opened_by": row.opened_by, "reason": row.reason}
    return NewEvent(kind, row.allocation_id, row.tenant_id, row.project_id, data)


async def terminal_opened(tx: Tx, terminal_id: str, holder: str | None) -> TerminalRow | None:
    """Mark the terminal as open, since its shell has answered. Return None when it ended meanwhile."""
    row = await queries.terminal_opened(tx.connection, terminal_id, holder, tx.now)
    if row is not None:
        await emit(tx, _event("allocation.terminal_opened", row))
    return row


async def allocation_ended(tx: Tx, allocation_id: str) -> None:
    """End every terminal of an allocation whose release has begun, or which has no host any more."""
    live = await queries.live_on_allocation(tx.connection, allocation_id)
    if live:
        await terminals_end(tx, live, end("released"))


async def terminals_forget(tx: Tx, before: datetime, portion: int) -> int:
    return await queries.terminals_delete_before(tx.connection, before, portion)


def _terminal(row: TerminalRow, caller: Caller, actor: Actor) -> Terminal:
    own = row.opened_by == actor.id
    path = f"/api/v1/projects/{row.project_id}/allocations/{row.allocation_id}/terminals/{row.id}/stream"
    may_close = row.status != "ended" and identity.is_permitted(caller, "terminal_close", own=own)
    return Terminal(
        **fields_of(row),
        idle_timeout_s=row.idle_seconds,
        stream=path,
        allowed_actions=["terminal_close"] if may_close else [],
    )
