"""The SQL of probe reports. It locks members and no instance: a thousand members may report in one moment."""

from collections.abc import Sequence

from gpuaas_server.instances.probe_documents import ProbeReportDocument, WatchDocument
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.rows import fetch_all, fetch_values


@dataclass(frozen=True, slots=True)
class ProbedMember:
    """A member on the host that reports, with the operation that works on it or on its instance."""

    id: str
    instance_id: str
    tenant_id: str
    watch: WatchDocument | None
    probe_report: ProbeReportDocument | None
    operation_id: str | None


async def probed_members(connection: Connection, node_id: str, member_ids: Sequence[str]) -> list[ProbedMember]:
    """Find those of the members that live on the node. A host says nothing about members elsewhere."""
    return await fetch_all(
        connection,
        ProbedMember,
        "SELECT m.id, m.instance_id, m.tenant_id, m.watch, m.probe_report,"
        " coalesce(i.operation_id, m.operation_id) AS operation_id FROM app_members m"
        " JOIN app_instances i ON i.id = m.instance_id"
        " WHERE m.id = ANY(%s) AND m.node_id = %s AND m.removed_at IS NULL AND NOT m.host_gone ORDER BY m.id",
        (list(member_ids), node_id),
    )


async def members_elsewhere(connection: Connection, node_id: str, member_ids: Sequence[str]) -> list[str]:
    """Return the ids of those members that live on other nodes."""
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM app_members WHERE id = ANY(%s) AND node_id <> %s ORDER BY id",
        (list(member_ids), node_id),
    )


async def probe_reports_store(connection: Connection, reports: dict[str, ProbeReportDocument]) -> None:
    """Store the reports, unless the host was asked for something newer meanwhile. Members are locked in their order."""
    rows = [{"id": member_id, "probe_report": report} for member_id, report in sorted(reports.items())]
    await connection.execute(
        "WITH told AS (SELECT id, probe_report FROM jsonb_populate_recordset(NULL::app_members, %s::jsonb)),"
        " locked AS (SELECT m.id FROM app_members m JOIN told t ON t.id = m.id ORDER BY m.id FOR NO KEY UPDATE OF m)"
        " UPDATE app_members m SET probe_report = t.probe_report FROM told t JOIN locked l ON l.id = t.id"
        " WHERE m.id = t.id AND m.watch ->> 'generation' = t.probe_report ->> 'generation'",
        (as_json(rows),),
    )
