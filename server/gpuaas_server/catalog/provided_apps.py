"""The states of the platform's own apps, as the process that provides them reports them.

So people see that an app is meant to be there, and whom to ask, when it cannot be provided. Only operators see the reason:
it may name files of the platform's machines.
"""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import provided_app_queries as queries
from gpuaas_server.catalog.rows import ProvidedAppRow
from gpuaas_server.catalog.schemas import ProvidedApp, ProvidedAppList, ProvidedAppReport
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.projects import service as projects

MOST = 500  # a platform has as many as packages are installed beside it
_MESSAGES = {
    "preparing": "{0} is being prepared. It appears in the catalog when it is ready.",
    "provided": "{0} is provided by the platform.",
    "unavailable": "{0} cannot be provided now. The platform tries again automatically.",
}
_NEXT_STEPS = {
    "unavailable": "Ask an administrator of the platform, who sees the reason and can change it.",
}


async def provided_app_report(tx: Tx, caller: Caller, name: str, body: ProvidedAppReport) -> ProvidedApp:
    """Record the state of one of the platform's own apps. The last report counts.

    The audit trail records a change of state. Progress within a state is only in the row.
    """
    if not await projects.is_platform_project(tx.connection, caller.project_id):
        raise Problem("not_found")  # only there apps are provided
    row = ProvidedAppRow(name, body.display_name, body.state, body.detail, tx.now)
    before = await queries.provided_app_lock(tx.connection, name)
    await queries.provided_app_store(tx.connection, row)
    if before is not None and before.state == body.state:
        tx.audited = True
        return _document(row, caller)
    details: dict[str, object] = {"name": name, "before": before.state if before else None, "state": body.state}
    await record(tx, AuditEntry("provided_app_report", name, caller.tenant_id, caller.project_id, details=details))
    return _document(row, caller)


async def provided_app_list(connection: Connection, caller: Caller) -> ProvidedAppList:
    rows = await queries.provided_app_list(connection, MOST)
    return ProvidedAppList(items=[_document(row, caller) for row in rows])


def _document(row: ProvidedAppRow, caller: Caller) -> ProvidedApp:
    operator = bool(caller.roles & identity.PLATFORM_ROLES)
    fields = fields_of(row) | {"detail": row.detail if operator else None}
    message = _MESSAGES[row.state].format(row.display_name)
    return ProvidedApp(**fields, message=message, next_step=_NEXT_STEPS.get(row.state))
