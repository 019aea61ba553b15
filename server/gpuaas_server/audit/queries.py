"""All SQL of the audit trail."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection


@dataclass(frozen=True, slots=True)
class AuditFilter:
    tenant_id: str | None = None
    project_id: str | None = None
    resource_id: str | None = None
    actor_id: str | None = None
    correlation_id: str | None = None
    action: str | None = None
    outcome: str | None = None


async def audit_insert(connection: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    columns = list(zip(*rows, strict=True))
    await connection.execute(
        "INSERT INTO audit_records (id, at, tenant_id, project_id, actor_id, actor_kind, actor_name, address,"
        " action, outcome, resource_id, reason, details, correlation_id)"
        " SELECT * FROM unnest(%s::text[], %s::timestamptz[], %s::text[], %s::text[], %s::text[], %s::text[],"
        " %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::jsonb[], %s::text[])",
        [list(column) for column in columns],
    )


async def audit_list(connection: Connection, wanted: AuditFilter, after: str | None, limit: int) -> list[DictRow]:
    """Newest first. The filter's columns are fixed names of ours; values travel as parameters."""
    clauses, values = ["true"], list[object]()
    for column in AuditFilter.__slots__:
        value = getattr(wanted, column)
        if value is not None:
            clauses.append(f"{column} = %s")
            values.append(value)
    if after is not None:
        clauses.append("id < %s")
        values.append(after)
    cursor = await connection.execute(
        f"SELECT * FROM audit_records WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s", [*values, limit]
    )
    return await cursor.fetchall()
