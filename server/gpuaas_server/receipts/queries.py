"""All SQL of teardown receipts."""

from collections.abc import Mapping, Sequence

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection

COLUMNS = (
    "id, tenant_id, project_id, operation_id, instance_id, member_id, allocation_id, node_id, shape, depth, footprint,"
    " footprint_sha256, baseline_sha256, revoked_serials, status, attempt, deadline_at, code, message, checks, forced,"
    " correlation_id, created_at, settled_at"
)
_INSERTED = (
    "id text, tenant_id text, project_id text, operation_id text, instance_id text, member_id text, allocation_id text,"
    " node_id text, shape text, depth text, footprint jsonb, footprint_sha256 text, baseline_sha256 text,"
    " revoked_serials jsonb, status text, attempt smallint, deadline_at timestamptz, code text, message text,"
    " checks jsonb, forced jsonb, correlation_id text, created_at timestamptz, settled_at timestamptz"
)
RECEIPT_INSERT = (
    f"INSERT INTO teardown_receipts ({COLUMNS}) SELECT {COLUMNS} FROM jsonb_to_recordset(%s::jsonb) AS r({_INSERTED})"
)


async def receipts_lock(connection: Connection, operation_id: str) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM teardown_receipts WHERE operation_id = %s ORDER BY id FOR UPDATE", (operation_id,)
    )
    return await cursor.fetchall()


async def receipt_change(connection: Connection, receipt_id: str, changes: Mapping[str, object]) -> DictRow:
    """`changes` are columns of ours; the caller holds the row."""
    values = {k: Jsonb(v) if isinstance(v, dict | list) else v for k, v in changes.items()}
    assignments = ", ".join(f"{column} = %({column})s" for column in changes)
    cursor = await connection.execute(
        f"UPDATE teardown_receipts SET {assignments} WHERE id = %(id_)s RETURNING {COLUMNS}",
        {**values, "id_": receipt_id},
    )
    row = await cursor.fetchone()
    if row is None:
        raise LookupError(receipt_id)
    return row


async def operations_named(connection: Connection, operation_ids: Sequence[str]) -> set[str]:
    cursor = await connection.execute(
        "SELECT DISTINCT operation_id FROM teardown_receipts WHERE operation_id = ANY(%s)", (list(operation_ids),)
    )
    return {row["operation_id"] for row in await cursor.fetchall()}


async def receipt_show(connection: Connection, project_id: str, receipt_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM teardown_receipts WHERE id = %s AND project_id = %s", (receipt_id, project_id)
    )
    return await cursor.fetchone()


async def receipt_list(
    connection: Connection,
    project_id: str,
    wanted: Mapping[str, str | None],
    after: str | None,
    limit: int,
    instances: Sequence[str] | None = None,
) -> list[DictRow]:
    """Newest first; of these `instances`, or of all. `wanted` are columns of ours; only values come from outside."""
    clauses, values = ["project_id = %s"], list[object]([project_id])
    for column, value in wanted.items():
        if value is not None:
            clauses.append(f"{column} = %s")
            values.append(value)
    if instances is not None:
        clauses.append("instance_id = ANY(%s)")
        values.append(instances)
    if after is not None:
        clauses.append("id < %s")
        values.append(after)
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM teardown_receipts WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s",
        [*values, limit],
    )
    return await cursor.fetchall()
