"""All SQL of the audit trail."""

from datetime import UTC, datetime, timedelta

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import first_id_at
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_values, recordset_insert


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One row of the audit trail."""

    id: str
    at: datetime
    tenant_id: str | None
    project_id: str | None
    actor_id: str
    actor_kind: str
    actor_name: str
    address: str
    action: str
    outcome: str
    resource_id: str | None
    reason: str | None
    details: dict[str, object]
    correlation_id: str
    user_agent: str
    source: str
    site: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Chooses which audit rows are read; a field that is None does not restrict them."""

    tenant_id: str | None = None
    project_id: str | None = None
    resource_id: str | None = None
    actor_id: str | None = None
    correlation_id: str | None = None
    action: str | None = None
    outcome: str | None = None
    source: str | None = None
    since: datetime | None = None
    before: datetime | None = None


_TIMES = {"since": "at >= %s", "before": "at < %s"}
_SLACK = timedelta(hours=1)  # an id is drawn after its transaction began, which is the time of the row
_FIRST, _LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


AUDIT_INSERT = recordset_insert("audit_records", AuditRow)


async def audit_list(connection: Connection, wanted: AuditFilter, page: PageRequest) -> list[AuditRow]:
    """Return the matching rows, newest first. The filter's columns are fixed names of ours; values are parameters."""
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
    if page.after is not None:
        clauses.append("id < %s")
        values.append(page.after)
    return await fetch_all(
        connection,
        AuditRow,
        f"SELECT {columns_of(AuditRow)} FROM audit_records WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s",
        [*values, page.rows],
    )


async def values_on_record(
    connection: Connection, resource_id: str, action: str, name: str, since: datetime, limit: int
) -> list[str]:
    """Return the values that this detail of a resource had, before or after a change that was recorded since then."""
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT value FROM audit_records,"
        " unnest(ARRAY[details -> %s ->> 'before', details -> %s ->> 'after']) AS value"
        " WHERE resource_id = %s AND action = %s AND at >= %s AND value IS NOT NULL LIMIT %s",
        (name, name, resource_id, action, since, limit),
    )


async def audit_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """Delete a portion of the oldest rows, by the primary key (ids sort by time). A setting tells the trigger from when on
    rows are kept.
    """
    await connection.execute("SELECT set_config('gpuaas.audit_kept_from', %s, true)", (before.isoformat(),))
    removed = await rows_removed(
        connection,
        "DELETE FROM audit_records WHERE id = ANY(ARRAY(SELECT id FROM audit_records WHERE id < %s"
        " AND at < %s ORDER BY id LIMIT %s))",
        (first_id_at("aud", before), before, portion),
    )
    await connection.execute("SELECT set_config('gpuaas.audit_kept_from', '', true)")
    return removed
