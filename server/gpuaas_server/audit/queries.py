"""All SQL of the audit trail."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.ids import first_id_at


@dataclass(frozen=True, slots=True)
class AuditFilter:
    tenant_id: str | None = None
    project_id: str | None = None
    resource_id: str | None = None
    actor_id: str | None = None
    correlation_id: str | None = None
    action: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    before: datetime | None = None


_TIMES = {"since": "at >= %s", "before": "at < %s"}
_SLACK = timedelta(hours=1)  # an id is drawn after its transaction began, which is the time of the row
_FIRST, _LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


AUDIT_INSERT = (
    "INSERT INTO audit_records (id, at, tenant_id, project_id, actor_id, actor_kind, actor_name, address, action, outcome,"
    " resource_id, reason, details, correlation_id, user_agent, source, site)"
    " SELECT * FROM jsonb_to_recordset(%s::jsonb) AS r(id text,"
    " at timestamptz, tenant_id text, project_id text, actor_id text, actor_kind text, actor_name text, address text,"
    " action text, outcome text, resource_id text, reason text, details jsonb, correlation_id text,"
    " user_agent text, source text, site text)"
)


async def audit_list(connection: Connection, wanted: AuditFilter, after: str | None, limit: int) -> list[DictRow]:
    """Newest first. The filter's columns are fixed names of ours; values travel as parameters."""
    clauses, values = ["true"], list[object]()
    for column in AuditFilter.__slots__:
        value = getattr(wanted, column)
        if value is not None:
            clauses.append(_TIMES.get(column, f"{column} = %s"))
            values.append(value)
    # Ids sort by time: a span of time is a span of every index that ends with the id.
    for bound, moment, slack in (("id >= %s", wanted.since, -_SLACK), ("id < %s", wanted.before, _SLACK)):
        if moment is not None:
            clauses.append(bound)
            values.append(first_id_at("aud", min(max(moment, _FIRST), _LAST) + slack))
    if after is not None:
        clauses.append("id < %s")
        values.append(after)
    cursor = await connection.execute(
        f"SELECT * FROM audit_records WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s", [*values, limit]
    )
    return await cursor.fetchall()


async def audit_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """The oldest first, over the primary key (ids sort by time). Says to the database from when on rows are kept."""
    await connection.execute("SELECT set_config('gpuaas.audit_kept_from', %s, true)", (before.isoformat(),))
    removed = await rows_removed(
        connection,
        "DELETE FROM audit_records WHERE id = ANY(ARRAY(SELECT id FROM audit_records WHERE id < %s"
        " AND at < %s ORDER BY id LIMIT %s))",
        (first_id_at("aud", before), before, portion),
    )
    await connection.execute("SELECT set_config('gpuaas.audit_kept_from', '', true)")
    return removed
