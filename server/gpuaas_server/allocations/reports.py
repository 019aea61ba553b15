"""Reports that a host is broken: a tenant makes them, and its GPUs stay out of the pool until an operator clears them.

A report disables only the GPUs of its allocation, when the allocation ends.
"""

from dataclasses import replace

from gpuaas_server.allocations import report_queries as queries
from gpuaas_server.allocations import service
from gpuaas_server.allocations.hooks import allocation_hooks
from gpuaas_server.allocations.rows import HostReportRow
from gpuaas_server.allocations.schemas import HostReport, HostReportClear, HostReportCreate
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.capacity import service as capacity
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

REPORTABLE = ("provisioning", "active", "releasing")


async def host_report_create(
    tx: Tx, project_id: str, allocation_id: str, body: HostReportCreate, most: int
) -> HostReport:
    """Report the host of an allocation. The tenant may have `most` open reports."""
    row = await service.allocation_lock(tx, project_id, allocation_id)
    if row.state not in REPORTABLE:
        raise Problem("conflict", f"The allocation is {row.state}; its host can no longer be reported.")
    if row.report_id is not None:
        raise Problem("already_exists", f"The host is reported already: {row.report_id}.")
    if (there := await queries.open_reports_lock(tx.connection, row.tenant_id)) >= most:
        raise Problem("too_many_host_reports", f"{there} reports are open; at most {most} are allowed.")
    report = HostReportRow(
        id=new_id("hrp"),
        tenant_id=row.tenant_id,
        project_id=row.project_id,
        allocation_id=allocation_id,
        node_id=row.node_id,
        reason=body.reason,
        reported_by=tx.actor.id,
        created_at=tx.now,
    )
    await queries.report_insert(tx.connection, report)
    await _announce(tx, report, "host_report_create", "reported", body.reason)
    return HostReport(**fields_of(report))


async def host_report_list(
    connection: Connection,
    caller: Caller,
    node_id: str | None,
    cleared: bool | None,
    page: PageRequest,
) -> Page[HostReport]:
    rows = await queries.report_list(connection, node_id, cleared, page)
    return Page[HostReport].of([_shown(row, caller) for row in rows], page)


async def host_report_clear(tx: Tx, caller: Caller, report_id: str, body: HostReportClear) -> HostReport:
    """Put the GPUs that the report kept out of the pool back. Whatever else is disabled stays so."""
    row = await queries.report_lock(tx.connection, report_id)
    if row is None:
        raise not_found("host report", report_id)
    if row.cleared_at is not None:
        raise Problem("conflict", f"The report was cleared by {row.cleared_by}.")
    await queries.report_clear(tx.connection, report_id, tx.actor.id, body.reason, tx.now)
    await capacity.slots_enable_withheld(tx, row.node_id, service.withheld_reason(report_id))
    cleared = replace(row, cleared_at=tx.now, cleared_by=tx.actor.id, cleared_reason=body.reason)
    await _announce(tx, cleared, "host_report_clear", "report_cleared", body.reason)
    return _shown(cleared, caller)


async def _announce(tx: Tx, report: HostReportRow, action: str, kind: str, reason: str) -> None:
    """Write the audit row, and tell the project and those who watch the node."""
    facts: dict[str, object] = {"report_id": report.id, "node_id": report.node_id, "reason": reason}
    own = {"allocation_id": report.allocation_id}
    await record(
        tx, AuditEntry(action, report.id, report.tenant_id, report.project_id, reason=reason, details=facts | own)
    )
    await allocation_hooks().hosts_changed(tx, [report.allocation_id])
    await emit(
        tx,
        NewEvent(f"allocation.host_{kind}", report.allocation_id, report.tenant_id, report.project_id, facts),
        NewEvent(f"node.{kind}", report.node_id, data=facts | own),
    )


def _shown(report: HostReportRow, caller: Caller) -> HostReport:
    possible = [] if report.cleared_at else ["host_report_clear"]
    return HostReport(**fields_of(report), allowed_actions=identity.allowed_actions(caller, possible))
