"""Create, list, show and delete sample items."""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.sample_items import queries
from gpuaas_server.sample_items.machine import STATES  # with states
from gpuaas_server.sample_items.rows import SampleItemRow
from gpuaas_server.sample_items.schemas import SampleItem, SampleItemCreate
from gpuaas_server.work import leases  # with states

WORK = "sample_item"  # with states


async def sample_item_create(tx: Tx, caller: Caller, body: SampleItemCreate) -> SampleItem:
    row = SampleItemRow(
        id=new_id("smp"),
        tenant_id=caller.tenant_id,
        project_id=caller.project_id,
        name=body.name,
        state=STATES[0],  # with states
        state_since=tx.now,  # with states
        created_by=tx.actor.id,
        created_at=tx.now,
    )
    if not await queries.sample_item_insert(tx.connection, row):
        raise Problem("already_exists", f"The project has a sample item with the name {body.name}.")
    leases.enqueue_new(tx, WORK, [row.id], flow=row.tenant_id)  # with states
    await _record(tx, "create", "created", row)
    return _sample_item(row, caller)


async def sample_item_list(connection: Connection, caller: Caller, page: PageRequest) -> Page[SampleItem]:
    rows = await queries.sample_item_list(connection, caller.project_id, page)
    return Page[SampleItem].of([_sample_item(row, caller) for row in rows], page)


async def sample_item_show(connection: Connection, caller: Caller, sample_item_id: str) -> SampleItem:
    row = await queries.sample_item_show(connection, caller.project_id, sample_item_id)
    if row is None:
        raise not_found("sample item", sample_item_id)
    return _sample_item(row, caller)


async def sample_item_delete(tx: Tx, caller: Caller, sample_item_id: str) -> None:
    row = await queries.sample_item_delete(tx.connection, caller.project_id, sample_item_id)
    if row is None:
        raise not_found("sample item", sample_item_id)
    await _record(tx, "delete", "deleted", row)


# begin: with states
async def sample_item_move(tx: Tx, sample_item_id: str, state: str) -> None:
    """Store the next state. The caller must hold the lock of the row."""
    await _record(tx, "move", state, await queries.sample_item_move(tx.connection, sample_item_id, state, tx.now))


# end: with states
async def _record(tx: Tx, verb: str, event: str, row: SampleItemRow) -> None:
    """Write the audit record of the change, and the event for those who watch the project."""
    data: dict[str, object] = {"name": row.name}
    data["state"] = row.state  # with states
    await record(tx, AuditEntry(f"sample_item_{verb}", row.id, row.tenant_id, row.project_id, details=data))
    await emit(tx, NewEvent(f"sample_item.{event}", row.id, row.tenant_id, row.project_id, data))


def _sample_item(row: SampleItemRow, caller: Caller) -> SampleItem:
    return SampleItem(**fields_of(row), allowed_actions=identity.allowed_actions(caller, ("sample_item_delete",)))
