"""SQL of the keys that agents sign with."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

FORMER_KEYS = 4  # so many of a node's former keys are recognised
_KEY = "id, name, public_key, key_generation, key_expires_at, source_networks"


async def node_keys(connection: Connection, node_ids: Sequence[str]) -> list[DictRow]:
    """The keys of nodes, each with the latest of its former ones as [generation, base64, end]."""
    cursor = await connection.execute(
        f"SELECT {_KEY}, (SELECT coalesce(jsonb_agg(jsonb_build_array(f.key_generation, encode(f.public_key, 'base64'),"
        " f.ended_at)), '[]') FROM (SELECT key_generation, public_key, ended_at FROM node_former_keys k"
        f" WHERE k.node_id = nodes.id ORDER BY key_generation DESC LIMIT {FORMER_KEYS}) f) AS former"
        " FROM nodes WHERE id = ANY(%s)",
        (list(node_ids),),
    )
    return await cursor.fetchall()


async def node_key_lock(connection: Connection, node_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_KEY} FROM nodes WHERE id = %s FOR NO KEY UPDATE", (node_id,))
    return await cursor.fetchone()


async def node_key_set(
    connection: Connection, node_id: str, public_key: bytes, expires_at: datetime, now: datetime
) -> DictRow:
    """The key of before is dead from now on."""
    await connection.execute(
        "INSERT INTO node_former_keys (node_id, key_generation, public_key, ended_at)"
        " SELECT id, key_generation, public_key, %s FROM nodes WHERE id = %s",
        (now, node_id),
    )
    cursor = await connection.execute(
        "UPDATE nodes SET public_key = %s, key_generation = key_generation + 1, key_expires_at = %s WHERE id = %s"
        f" RETURNING {_KEY}",
        (public_key, expires_at, node_id),
    )
    row = await cursor.fetchone()
    if row is None:
        raise RuntimeError("the node vanished under its lock")
    return row


async def former_key(connection: Connection, public_key: bytes) -> DictRow | None:
    """The node that had this key before, and which generation its key has now."""
    cursor = await connection.execute(
        "SELECT n.id, n.key_generation FROM node_former_keys f JOIN nodes n ON n.id = f.node_id WHERE f.public_key = %s"
        " LIMIT 1",
        (public_key,),
    )
    return await cursor.fetchone()


async def former_keys_delete(connection: Connection, node_id: str, before: int) -> None:
    await connection.execute(
        "DELETE FROM node_former_keys WHERE node_id = %s AND key_generation < %s", (node_id, before)
    )


async def misuse_insert(
    connection: Connection, node_id: str, generation: int, action: str, code: str, address: str, now: datetime
) -> bool:
    """False when this was seen before."""
    cursor = await connection.execute(
        "INSERT INTO node_key_misuses (node_id, key_generation, action, code, address, seen_at)"
        " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING node_id",
        (node_id, generation, action, code, address, now),
    )
    return await cursor.fetchone() is not None


async def source_networks_set(connection: Connection, node_id: str, networks: Sequence[str]) -> None:
    await connection.execute("UPDATE nodes SET source_networks = %s WHERE id = %s", (list(networks), node_id))


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
