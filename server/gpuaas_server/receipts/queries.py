"""All SQL of teardown receipts."""

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_one, fetch_optional, fetch_values, recordset_insert
from gpuaas_server.receipts.rows import ReceiptChanges, ReceiptRow

_COLUMNS = columns_of(ReceiptRow)
RECEIPT_INSERT = recordset_insert("teardown_receipts", ReceiptRow)


async def receipts_lock(connection: Connection, operation_id: str) -> list[ReceiptRow]:
    return await fetch_all(
        connection,
        ReceiptRow,
        f"SELECT {_COLUMNS} FROM teardown_receipts WHERE operation_id = %s ORDER BY id FOR UPDATE",
        (operation_id,),
    )


async def receipt_change(connection: Connection, receipt_id: str, changes: ReceiptChanges) -> ReceiptRow:
    """Caller must hold the row lock."""
    values = {k: Jsonb(v) if isinstance(v, dict | list) else v for k, v in changes.items()}
    assignments = ", ".join(f"{column} = %({column})s" for column in changes)
    return await fetch_one(
        connection,
        ReceiptRow,
        f"UPDATE teardown_receipts SET {assignments} WHERE id = %(id_)s RETURNING {_COLUMNS}",
        {**values, "id_": receipt_id},
    )


async def operations_referenced(connection: Connection, operation_ids: Sequence[str]) -> set[str]:
    found = await fetch_values(
        connection,
        str,
        "SELECT DISTINCT operation_id FROM teardown_receipts WHERE operation_id = ANY(%s)",
        (list(operation_ids),),
    )
    return set(found)


async def receipt_show(
    connection: Connection, project_id: str, receipt_id: str, apps: Sequence[str] | None
) -> ReceiptRow | None:
    """Return the receipt. `apps`: those that the caller sees; None for all."""
    return await fetch_optional(
        connection,
        ReceiptRow,
        f"SELECT {_COLUMNS} FROM teardown_receipts WHERE id = %(id)s"
        " AND (project_id = %(project)s OR instance_project_id = %(project)s)"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": receipt_id, "project": project_id, "apps": apps},
    )


@dataclass(frozen=True, slots=True)
class ReceiptFilter:
    """Chooses which receipts are wanted; None: any."""

    instance_id: str | None = None
    operation_id: str | None = None
    allocation_id: str | None = None
    status: str | None = None


async def receipt_list(
    connection: Connection,
    project_id: str | None,
    wanted: ReceiptFilter,
    page: PageRequest,
    apps: Sequence[str] | None,
) -> list[ReceiptRow]:
    """List the newest first: of the `apps` in sight or of all; of one project, or in a platform scope of all.

    A project's are those of its allocations, and of its instances on other projects' allocations: two indexes, each read
    to the limit. The clauses are ours; only values come from outside.
    """
    clauses, values = ["true"], list[object]()
    for clause, value in (
        ("instance_id = %s", wanted.instance_id),
        ("operation_id = %s", wanted.operation_id),
        ("allocation_id = %s", wanted.allocation_id),
        ("status = %s", wanted.status),
        ("app_slug = ANY(%s)", apps),
        ("id < %s", page.after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    chosen = f"SELECT {_COLUMNS} FROM teardown_receipts WHERE {' AND '.join(clauses)}"
    paged = "ORDER BY id DESC LIMIT %s"
    if project_id is None:
        return await fetch_all(connection, ReceiptRow, f"{chosen} {paged}", [*values, page.rows])
    owners = ("project_id", "instance_project_id")
    parts = " UNION ALL ".join(f"({chosen} AND {owner} = %s {paged})" for owner in owners)
    mine = [*values, project_id, page.rows]
    return await fetch_all(connection, ReceiptRow, f"{parts} {paged}", [*mine, *mine, page.rows])
