"""The verbs of bindings: a publisher says which of its service accounts controls an app for tenants that consent."""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import service as catalog
from gpuaas_server.controllers import queries
from gpuaas_server.controllers.rows import BindingRow
from gpuaas_server.controllers.schemas import ControllerBinding, ControllerBindingCreate
from gpuaas_server.controllers.served_apps import APP_SERVICE
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.operations import service as operations
from gpuaas_server.work import leases


async def controller_binding_create(tx: Tx, caller: Caller, body: ControllerBindingCreate) -> ControllerBinding:
    """Bind an app of this project to one of its service accounts. No tenant is served before it consents."""
    app = await catalog.app_of_project(tx.connection, caller.project_id, body.app)
    account = await identity.service_account_of(tx.connection, caller.project_id, body.service_account_id)
    if account is None:
        raise not_found("service account", body.service_account_id)
    if not set(account.scopes) >= identity.CONTROL or body.app not in account.app_slugs:
        message = f"{account.name} needs the scope apps:control and {body.app} among its app_slugs."
        raise Problem("not_the_controller", message, {"app": body.app})
    row = BindingRow(
        id=new_id("cbd"),
        tenant_id=caller.tenant_id,
        project_id=caller.project_id,
        app_id=app.id,
        app_slug=app.slug,
        service_account_id=account.id,
        service_account_name=account.name,
        created_by=tx.actor.id,
        created_at=tx.now,
    )
    if not await queries.binding_insert(tx.connection, row):
        raise Problem("already_exists", f"{account.name} is bound to {app.slug} already.")
    await leases.enqueue(tx, APP_SERVICE, [row.app_id])
    await _record(tx, "create", "created", row)
    return _binding(row, caller)


async def controller_binding_list(connection: Connection, caller: Caller, page: PageRequest) -> Page[ControllerBinding]:
    rows = await queries.binding_list(connection, caller.project_id, page)
    return Page[ControllerBinding].of([_binding(row, caller) for row in rows], page)


async def controller_binding_delete(tx: Tx, project_id: str, binding_id: str) -> None:
    """End the binding for all tenants at once; the leases of their operations end, too."""
    row = await queries.binding_delete(tx.connection, project_id, binding_id)
    if row is None:
        raise not_found("controller binding", binding_id)
    await leases.enqueue(tx, identity.CONTROLLER_LEASES_END, [row.service_account_id])
    await leases.enqueue(tx, APP_SERVICE, [row.app_id])
    await _record(tx, "delete", "deleted", row)


async def _record(tx: Tx, verb: str, event: str, row: BindingRow) -> None:
    data: dict[str, object] = {"app": row.app_slug, "service_account_id": row.service_account_id}
    place = (row.id, row.tenant_id, row.project_id)
    await record(tx, AuditEntry(f"controller_binding_{verb}", *place, details=data))
    await emit(tx, NewEvent(f"controller_binding.{event}", *place, data))
    tx.wakeups |= {identity.TOPIC, operations.app_topic(row.app_slug)}


def _binding(row: BindingRow, caller: Caller) -> ControllerBinding:
    shown = {name: getattr(row, name) for name in ControllerBinding.model_fields if name != "allowed_actions"}
    verbs = ("controller_binding_delete",) if row.kind_binding_id is None else ()
    return ControllerBinding(**shown, allowed_actions=identity.allowed_actions(caller, verbs))
