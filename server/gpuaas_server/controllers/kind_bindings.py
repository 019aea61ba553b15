"""The verbs of kind bindings: a service account of the platform controls every app of a kind that has no controller of its own.

For each such app a binding follows from it (served_apps.py), so that consents, walls and heartbeats know only bindings.
"""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.controllers import kind_queries as queries
from gpuaas_server.controllers.rows import KindBindingRow
from gpuaas_server.controllers.schemas import ControllerKindBinding, ControllerKindBindingCreate
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
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.projects import service as projects
from gpuaas_server.work import leases


async def controller_kind_binding_create(
    tx: Tx, caller: Caller, body: ControllerKindBindingCreate
) -> ControllerKindBinding:
    """Bind a kind of artifact to a service account of the platform's own project."""
    if not await projects.is_platform_project(tx.connection, caller.project_id):
        raise Problem("not_platform_project")
    account = await identity.service_account_of(tx.connection, caller.project_id, body.service_account_id)
    if account is None:
        raise not_found("service account", body.service_account_id)
    if not set(account.scopes) >= identity.CONTROL:
        raise Problem("not_the_controller", f"{account.name} needs the scope apps:control.")
    row = KindBindingRow(
        id=new_id("ckb"),
        tenant_id=caller.tenant_id,
        project_id=caller.project_id,
        artifact_kind=body.artifact_kind,
        service_account_id=account.id,
        service_account_name=account.name,
        created_by=tx.actor.id,
        created_at=tx.now,
    )
    if not await queries.kind_binding_insert(tx.connection, row):
        raise Problem("already_exists", f"{account.name} is bound to {body.artifact_kind} apps already.")
    await leases.enqueue(tx, APP_SERVICE, [row.id])
    await _record(tx, "create", "created", row)
    return _kind_binding(row, caller)


async def controller_kind_binding_list(
    connection: Connection, caller: Caller, page: PageRequest
) -> Page[ControllerKindBinding]:
    rows = await queries.kind_binding_list(connection, caller.project_id, page)
    return Page[ControllerKindBinding].of([_kind_binding(row, caller) for row in rows], page)


async def controller_kind_binding_delete(tx: Tx, project_id: str, kind_binding_id: str) -> None:
    """End it for all apps at once, with the bindings that follow from it: the leases of their operations end too."""
    derived = await queries.bindings_of_kind_binding(tx.connection, kind_binding_id)
    row = await queries.kind_binding_delete(tx.connection, project_id, kind_binding_id)
    if row is None:
        raise not_found("controller kind binding", kind_binding_id)
    await identity.change_controlled_apps(tx, row.service_account_id, add=(), remove=[one.app_slug for one in derived])
    await leases.enqueue(tx, identity.CONTROLLER_LEASES_END, [row.service_account_id])
    # Another kind binding may serve them: of an account that is bound to two kinds, an app has only one binding.
    await leases.enqueue(tx, APP_SERVICE, [one.app_id for one in derived])
    await _record(tx, "delete", "deleted", row)


async def _record(tx: Tx, verb: str, event: str, row: KindBindingRow) -> None:
    data: dict[str, object] = {"artifact_kind": row.artifact_kind, "service_account_id": row.service_account_id}
    place = (row.id, row.tenant_id, row.project_id)
    await record(tx, AuditEntry(f"controller_kind_binding_{verb}", *place, details=data))
    await emit(tx, NewEvent(f"controller_kind_binding.{event}", *place, data))
    tx.wakeups.add(identity.TOPIC)


def _kind_binding(row: KindBindingRow, caller: Caller) -> ControllerKindBinding:
    shown = {name: value for name, value in fields_of(row).items() if name != "tenant_id"}
    verbs = ("controller_kind_binding_delete",)
    return ControllerKindBinding(**shown, allowed_actions=identity.allowed_actions(caller, verbs))
