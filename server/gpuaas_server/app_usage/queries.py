"""All SQL of app usage."""

from collections.abc import Sequence
from datetime import date, datetime

from gpuaas_server.app_usage.rows import UsagePosition, UsageRecordRow, UsageTotalRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_optional, fetch_values, fields_of

COLUMNS = columns_of(UsageRecordRow)
# One statement, so that the sums grow by exactly the records that it adds, even if another report has the same records.
# Rows are in the order of their keys, so that two reports about the same days do not deadlock.
_ADD = (
    f"WITH reported AS (SELECT {COLUMNS} FROM jsonb_populate_recordset(NULL::app_usage_records, %s::jsonb)"
    " ORDER BY source_key),"
    f" added AS (INSERT INTO app_usage_records ({COLUMNS}) SELECT {COLUMNS} FROM reported"
    " ON CONFLICT (instance_id, source_key) DO NOTHING RETURNING *),"
    " summed AS (INSERT INTO app_usage_days (tenant_id, project_id, instance_id, app_slug, metric, unit, day, quantity,"
    " records) SELECT tenant_id, project_id, instance_id, app_slug, metric, unit, (ended_at AT TIME ZONE 'UTC')::date,"
    " sum(quantity), count(*) FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 2, 3, 5, 6, 7"
    " ON CONFLICT (project_id, instance_id, metric, unit, day) DO UPDATE SET"
    " quantity = app_usage_days.quantity + excluded.quantity, records = app_usage_days.records + excluded.records)"
    " SELECT source_key FROM added"
)


@dataclass(frozen=True, slots=True)
class UsageFilter:
    project_id: str
    instance_id: str | None = None
    since: datetime | None = None
    before: datetime | None = None


async def records_add(connection: Connection, rows: Sequence[UsageRecordRow]) -> set[str]:
    """Add the records, and return the source keys of those that were not there yet."""
    return set(await fetch_values(connection, str, _ADD, (as_json([fields_of(row) for row in rows]),)))


async def records_known(connection: Connection, instance_id: str, source_keys: Sequence[str]) -> list[UsageRecordRow]:
    return await fetch_all(
        connection,
        UsageRecordRow,
        f"SELECT {COLUMNS} FROM app_usage_records WHERE instance_id = %s AND source_key = ANY(%s)",
        (instance_id, list(source_keys)),
    )


async def record_position(connection: Connection, project_id: str, record_id: str) -> UsagePosition | None:
    return await fetch_optional(
        connection,
        UsagePosition,
        "SELECT ended_at, id FROM app_usage_records WHERE id = %s AND project_id = %s",
        (record_id, project_id),
    )


async def record_list(
    connection: Connection, wanted: UsageFilter, after: UsagePosition | None, limit: int
) -> list[UsageRecordRow]:
    """List the latest end first. The clauses are constants; only values come from outside."""
    clauses, values = ["project_id = %s"], list[object]([wanted.project_id])
    for clause, value in (
        ("instance_id = %s", wanted.instance_id),
        ("ended_at >= %s", wanted.since),
        ("ended_at < %s", wanted.before),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if after is not None:
        clauses.append("(ended_at, id) < (%s, %s)")
        values += [after.ended_at, after.id]
    return await fetch_all(
        connection,
        UsageRecordRow,
        f"SELECT {COLUMNS} FROM app_usage_records WHERE {' AND '.join(clauses)}"
        " ORDER BY ended_at DESC, id DESC LIMIT %s",
        [*values, limit],
    )


async def totals(
    connection: Connection,
    project_id: str,
    instance_id: str | None,
    days: tuple[date, date],
    after: tuple[str, str, str] | None,
    limit: int,
) -> list[UsageTotalRow]:
    """List the totals in the order of the primary key, so that a page ends where its last group does."""
    clauses, values = ["project_id = %s", "day BETWEEN %s AND %s"], list[object]([project_id, *days])
    if instance_id is not None:
        clauses.append("instance_id = %s")
        values.append(instance_id)
    if after is not None:
        clauses.append("(instance_id, metric, unit) > (%s, %s, %s)")
        values += after
    return await fetch_all(
        connection,
        UsageTotalRow,
        "SELECT instance_id, max(app_slug) AS app_slug, metric, unit, sum(quantity) AS quantity, sum(records) AS records"
        f" FROM app_usage_days WHERE {' AND '.join(clauses)} GROUP BY instance_id, metric, unit"
        " ORDER BY instance_id, metric, unit LIMIT %s",
        [*values, limit],
    )
