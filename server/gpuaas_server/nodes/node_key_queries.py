"""SQL of the keys that agents sign with."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_KEY = "id, name, public_key, previous_public_key, previous_key_until, key_generation, key_expires_at"


async def node_keys(connection: Connection, node_ids: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(f"SELECT {_KEY} FROM nodes WHERE id = ANY(%s)", (list(node_ids),))
    return await cursor.fetchall()


async def node_key_lock(connection: Connection, node_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_KEY} FROM nodes WHERE id = %s FOR NO KEY UPDATE", (node_id,))
    return await cursor.fetchone()


async def node_key_set(
    connection: Connection, node_id: str, public_key: bytes, expires_at: datetime, overlap_until: datetime
) -> DictRow:
    """The key of before is good until the overlap ends."""
    cursor = await connection.execute(
        "UPDATE nodes SET previous_public_key = public_key, previous_key_until = %s, public_key = %s,"
        f" key_generation = key_generation + 1, key_expires_at = %s WHERE id = %s RETURNING {_KEY}",
        (overlap_until, public_key, expires_at, node_id),
    )
    row = await cursor.fetchone()
    if row is None:
        raise RuntimeError("the node vanished under its lock")
    return row


async def node_key_extend(connection: Connection, node_id: str, expires_at: datetime) -> None:
    await connection.execute("UPDATE nodes SET key_expires_at = %s WHERE id = %s", (expires_at, node_id))


async def keys_ending(connection: Connection, now: datetime, late: datetime) -> DictRow:
    """How many keys of nodes in use have ended, and how many end before `late`."""
    cursor = await connection.execute(
        "SELECT count(*) FILTER (WHERE key_expires_at <= %s) AS expired,"
        " count(*) FILTER (WHERE key_expires_at > %s) AS late FROM nodes WHERE retired_at IS NULL AND key_expires_at < %s",
        (now, now, late),
    )
    row = await cursor.fetchone()
    return row or {"expired": 0, "late": 0}
