"""An export: everything that the platform holds on a tenant or a project, one JSON object a line, page by page.

No page holds a connection while the caller reads, and no more than a page is in memory. It is no snapshot: what changes
meanwhile may be in it in its old or its new state.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress

import orjson
from starlette.responses import Response

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.deletions import export_queries, queries
from gpuaas_server.deletions.export_queries import ExportedRow
from gpuaas_server.deletions.exported_tables import (
    PROJECT_AUDIT,
    PROJECT_TABLES,
    TENANT_AUDIT,
    TENANT_TABLES,
    ExportedTable,
)
from gpuaas_server.deletions.schemas import NDJSON
from gpuaas_server.kernel.database_health import OUTAGE_ERRORS
from gpuaas_server.kernel.http.call import Call
from gpuaas_server.kernel.http.streams import LimitedStream

FORMAT = 1
PAGE = 200
Rows = AsyncIterator[tuple[str, list[ExportedRow]]]


async def export_response(call: Call, tenant_id: str, project_id: str | None) -> Response:
    """Stream the export. The audit row of it is written before the first line goes."""
    entry = AuditEntry(call.action, project_id or tenant_id, tenant_id, project_id)
    async with call.platform.transaction(call.admission.scope, call.actor) as tx:
        await record(tx, entry)
    content = _lines(call, tenant_id, project_id)
    return LimitedStream(content, NDJSON, call.stream_limits, call.stream_owner, "export")


async def _lines(call: Call, tenant_id: str, project_id: str | None) -> AsyncIterator[bytes]:
    counts: Counter[str] = Counter()
    head = {"format": FORMAT, "tenant_id": tenant_id, "project_id": project_id, "at": call.platform.clock()}
    yield _line("export", head)
    with suppress(*OUTAGE_ERRORS):  # cut off: there is no line of kind `end`
        pages = _project_rows(call, project_id, PROJECT_AUDIT) if project_id else _tenant_rows(call, tenant_id)
        async for kind, rows in pages:
            counts[kind] += len(rows)
            yield b"".join(_line(kind, row) for row in rows)
            if not await call.is_still_admitted():
                return
        yield _line("end", {"counts": counts})


async def _tenant_rows(call: Call, tenant_id: str) -> Rows:
    for table in TENANT_TABLES:
        async for found in _rows(call, table, tenant_id):
            yield found
    async with call.platform.database.connection(call.admission.scope) as connection:
        projects = await queries.project_ids(connection, tenant_id)
    for project_id in projects:
        async for found in _project_rows(call, project_id, None):
            yield found
    async for found in _rows(call, TENANT_AUDIT, tenant_id):
        yield found


async def _project_rows(call: Call, project_id: str, audit: ExportedTable | None) -> Rows:
    for table in (*PROJECT_TABLES, *([audit] if audit else [])):
        async for found in _rows(call, table, project_id):
            yield found


async def _rows(call: Call, table: ExportedTable, place: str) -> Rows:
    async for rows in _pages(call, table, {"place": place}):
        yield table.kind, rows
        for child in table.children:
            async for of_child in _pages(call, child, {"ids": export_queries.ids_of(rows)}):
                yield child.kind, of_child


async def _pages(call: Call, table: ExportedTable, scope: dict[str, object]) -> AsyncIterator[list[ExportedRow]]:
    after: tuple[object, ...] | None = None
    while True:
        async with call.platform.database.connection(call.admission.scope) as connection:
            rows = await export_queries.page(connection, table, scope, after, PAGE)
        if rows:
            yield rows
        if len(rows) < PAGE:
            return
        after = export_queries.key_of(table, rows[-1])


def _line(kind: str, row: ExportedRow) -> bytes:
    return orjson.dumps({"kind": kind, "data": row}, default=str, option=orjson.OPT_APPEND_NEWLINE)
