"""All SQL of SKUs."""

from psycopg import AsyncCursor

from gpuaas_server.capacity.rows import NewSku, RequestedSku, SkuRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, execute, fetch_optional, values_insert, values_of

_SKU = columns_of(SkuRow)


async def sku_insert(connection: Connection, row: NewSku) -> SkuRow | None:
    """Return the row, or None when the name is taken."""
    return await fetch_optional(
        connection,
        SkuRow,
        f"{values_insert('skus', NewSku)} ON CONFLICT (name) DO NOTHING RETURNING {_SKU}",
        values_of(row),
    )


async def sku_update(connection: Connection, sku_id: str, changes: dict[str, object]) -> SkuRow | None:
    """Update the SKU. `changes` has columns of ours (from the request schema's fields), never a name that a caller sent."""
    assignments = "".join(f"{column} = %({column})s, " for column in changes)
    return await fetch_optional(
        connection,
        SkuRow,
        f"UPDATE skus SET {assignments} generation = generation + 1 WHERE id = %(sku_id)s RETURNING {_SKU}",
        {**changes, "sku_id": sku_id},
    )


async def sku_list(connection: Connection, page: PageRequest) -> list[SkuRow]:
    return await fetch_page(connection, SkuRow, f"SELECT {_SKU} FROM skus WHERE true", (), page)


async def sku_ask(connection: Connection, id_or_name: str, tenant_id: str) -> AsyncCursor[RequestedSku]:
    """Ask for the SKU, with the grade that the tenant requires. Nobody waits until the answer is fetched."""
    return await execute(
        connection,
        RequestedSku,
        f"SELECT {_SKU}, coalesce((SELECT t.wipe_grade FROM tenants t WHERE t.id = %(tenant)s), 'inspected') AS tenant_grade"
        " FROM skus WHERE id = %(sku)s OR name = %(sku)s",
        {"sku": id_or_name, "tenant": tenant_id},
    )


async def sku_lock(connection: Connection, sku_id: str) -> SkuRow | None:
    return await fetch_optional(connection, SkuRow, f"SELECT {_SKU} FROM skus WHERE id = %s FOR UPDATE", (sku_id,))
