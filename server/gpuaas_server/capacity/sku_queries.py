"""All SQL of SKUs."""

from collections.abc import Sequence
from datetime import datetime

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_SKU = (
    "id, name, shape, gpu_model, gpu_counts, price_per_gpu_hour_minor, currency, offered, wipe_grade,"
    " accept_not_examined, generation, created_at"
)


async def sku_insert(connection: Connection, row: Sequence[object], now: datetime) -> DictRow | None:
    cursor = await connection.execute(
        "INSERT INTO skus (id, name, shape, gpu_model, gpu_counts, price_per_gpu_hour_minor, currency, offered, wipe_grade,"
        " accept_not_examined, created_at) VALUES (%s, %s, %s, %s, %s::smallint[], %s, %s, %s, %s, %s::text[], %s)"
        f" ON CONFLICT (name) DO NOTHING RETURNING {_SKU}",
        [*row, now],
    )
    return await cursor.fetchone()


async def sku_update(connection: Connection, sku_id: str, changes: dict[str, object]) -> DictRow | None:
    """`changes` has columns of ours (from the request schema's fields), never a name that a caller sent."""
    assignments = "".join(f"{column} = %({column})s, " for column in changes)
    cursor = await connection.execute(
        f"UPDATE skus SET {assignments} generation = generation + 1 WHERE id = %(sku_id)s RETURNING {_SKU}",
        {**changes, "sku_id": sku_id},
    )
    return await cursor.fetchone()


async def sku_list(connection: Connection, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_SKU} FROM skus WHERE (%s::text IS NULL OR id < %s) ORDER BY id DESC LIMIT %s", (after, after, limit)
    )
    return await cursor.fetchall()


async def sku_ask(connection: Connection, id_or_name: str, tenant_id: str) -> AsyncCursor[DictRow]:
    """Nobody waits yet: the row, with the grade that the tenant requires, is there once somebody fetches it."""
    return await connection.execute(
        f"SELECT {_SKU}, coalesce((SELECT t.wipe_grade FROM tenants t WHERE t.id = %(tenant)s), 'inspected') AS tenant_grade"
        " FROM skus WHERE id = %(sku)s OR name = %(sku)s",
        {"sku": id_or_name, "tenant": tenant_id},
    )


async def sku_lock(connection: Connection, sku_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_SKU} FROM skus WHERE id = %s FOR UPDATE", (sku_id,))
    return await cursor.fetchone()
