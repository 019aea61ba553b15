"""All SQL of SKUs and quotas."""

from collections.abc import Sequence
from datetime import datetime

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.later import Later

_SKU = "id, name, shape, gpu_model, gpu_counts, price_per_gpu_hour_minor, currency, offered, generation, created_at"


async def sku_insert(connection: Connection, row: Sequence[object], now: datetime) -> DictRow | None:
    cursor = await connection.execute(
        "INSERT INTO skus (id, name, shape, gpu_model, gpu_counts, price_per_gpu_hour_minor, currency, offered, created_at)"
        f" VALUES (%s, %s, %s, %s, %s::smallint[], %s, %s, %s, %s) ON CONFLICT (name) DO NOTHING RETURNING {_SKU}",
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


async def sku_ask(connection: Connection, id_or_name: str) -> AsyncCursor[DictRow]:
    """Nobody waits yet: the row is there once somebody fetches it."""
    return await connection.execute(f"SELECT {_SKU} FROM skus WHERE id = %s OR name = %s", (id_or_name, id_or_name))


async def sku_lock(connection: Connection, sku_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_SKU} FROM skus WHERE id = %s FOR UPDATE", (sku_id,))
    return await cursor.fetchone()


async def quota_show(connection: Connection, scope_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT scope_id, gpu_limit, gpus_used, generation FROM quotas WHERE scope_id = %s", (scope_id,)
    )
    return await cursor.fetchone()


async def quota_lock(connection: Connection, scope_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT scope_id, gpu_limit, gpus_used, generation FROM quotas WHERE scope_id = %s FOR UPDATE", (scope_id,)
    )
    return await cursor.fetchone()


async def quota_set(
    connection: Connection, scope_id: str, tenant_id: str, gpu_limit: int | None, expected: int
) -> DictRow | None:
    """None when the row is not of the expected generation (0: there is none); then it is locked all the same."""
    cursor = await connection.execute(
        "INSERT INTO quotas AS q (scope_id, tenant_id, gpu_limit) VALUES (%s, %s, %s)"
        " ON CONFLICT (scope_id) DO UPDATE SET gpu_limit = EXCLUDED.gpu_limit, generation = q.generation + 1"
        " WHERE q.generation = %s RETURNING scope_id, gpu_limit, gpus_used, generation",
        (scope_id, tenant_id, gpu_limit, expected),
    )
    return await cursor.fetchone()


def quota_take(later: Later, scopes: Sequence[tuple[str, str]], tenant_id: str, gpus: int) -> None:
    """Count GPUs against the quotas of (scope, its noun), or fail with `quota_exceeded`. Locks them until the commit."""
    ids, nouns = [scope for scope, _ in scopes], [noun for _, noun in scopes]
    later.call("take_quota(%s, %s, %s, %s)", (ids, nouns, tenant_id, gpus))


async def quota_give_back(connection: Connection, scope_ids: Sequence[str], gpus: int) -> None:
    for scope_id in scope_ids:  # in the order in which quota_take locks them
        await connection.execute("UPDATE quotas SET gpus_used = gpus_used - %s WHERE scope_id = %s", (gpus, scope_id))
