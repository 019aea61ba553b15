"""All SQL of teardown receipts."""

from collections.abc import Mapping, Sequence

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection

COLUMNS = (
    "id, tenant_id, project_id, instance_project_id, operation_id, instance_id, app_slug, member_id, allocation_id,"
    " node_id, shape, depth, footprint, footprint_sha256, baseline_sha256, revoked_serials, status, attempt,"
    " deadline_at, code, message, checks, forced, correlation_id, created_at, settled_at"
)
_INSERTED = (
    "id text, tenant_id text, project_id text, instance_project_id text, operation_id text, instance_id text,"
    " app_slug text, member_id text, allocation_id text, node_id text, shape text, depth text, footprint jsonb,"
    " footprint_sha256 text, baseline_sha256 text, revoked_serials jsonb, status text, attempt smallint,"
    " deadline_at timestamptz, code text, message text, checks jsonb, forced jsonb, correlation_id text,"
    " created_at timestamptz, settled_at timestamptz"
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


async def receipt_show(
    connection: Connection, project_id: str, receipt_id: str, apps: Sequence[str] | None
) -> DictRow | None:
    """`apps`: those that the caller sees; None for all."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM teardown_receipts WHERE id = %(id)s"
        " AND (project_id = %(project)s OR instance_project_id = %(project)s)"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": receipt_id, "project": project_id, "apps": apps},
    )
    return await cursor.fetchone()


async def receipt_list(
    connection: Connection,
    project_id: str | None,
    wanted: Mapping[str, str | None],
    after: str | None,
    limit: int,
    apps: Sequence[str] | None,
) -> list[DictRow]:
    """Newest first; of the `apps` in sight, or of all; of one project, or in a platform scope of all.

    A project's are those of its allocations, and of its instances on other projects' allocations: two indexes, each read
    to the limit. `wanted` are columns of ours; only values come from outside.
    """
    clauses, values = ["true"], list[object]()
    for column, value in wanted.items():
        if value is not None:
            clauses.append(f"{column} = %s")
            values.append(value)
    if apps is not None:
        clauses.append("app_slug = ANY(%s)")
        values.append(apps)
    if after is not None:
        clauses.append("id < %s")
        values.append(after)
    chosen = f"SELECT {COLUMNS} FROM teardown_receipts WHERE {' AND '.join(clauses)}"
    paged = "ORDER BY id DESC LIMIT %s"
    if project_id is None:
        cursor = await connection.execute(f"{chosen} {paged}", [*values, limit])
    else:
        owners = ("project_id", "instance_project_id")
        parts = " UNION ALL ".join(f"({chosen} AND {owner} = %s {paged})" for owner in owners)
        mine = [*values, project_id, limit]
        cursor = await connection.execute(f"{parts} {paged}", [*mine, *mine, limit])
    return await cursor.fetchall()
