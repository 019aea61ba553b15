"""SQL of the keys that agents sign with."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_one, fetch_optional
from gpuaas_server.nodes.rows import EndingKeys, FormerKeyOwner, NodeKeyHistory, NodeKeyRow

_KEY = columns_of(NodeKeyRow)


async def node_keys(connection: Connection, node_ids: Sequence[str]) -> list[NodeKeyHistory]:
    """Return the keys of nodes, each with the latest of its former ones."""
    return await fetch_all(
        connection,
        NodeKeyHistory,
        f"SELECT {columns_of(NodeKeyHistory)} FROM nodes WHERE id = ANY(%s)",
        (list(node_ids),),
    )


async def node_key_lock(connection: Connection, node_id: str) -> NodeKeyRow | None:
    return await fetch_optional(
        connection, NodeKeyRow, f"SELECT {_KEY} FROM nodes WHERE id = %s FOR NO KEY UPDATE", (node_id,)
    )


async def node_key_set(
    connection: Connection, node_id: str, public_key: bytes, expires_at: datetime, now: datetime
) -> NodeKeyRow:
    """Give the node another key. The key of before is dead from now on."""
    await connection.execute(
        "INSERT INTO node_former_keys (node_id, key_generation, public_key, ended_at)"
        " SELECT id, key_generation, public_key, %s FROM nodes WHERE id = %s",
        (now, node_id),
    )
    return await fetch_one(
        connection,
        NodeKeyRow,
        "UPDATE nodes SET public_key = %s, key_generation = key_generation + 1, key_expires_at = %s WHERE id = %s"
        f" RETURNING {_KEY}",
        (public_key, expires_at, node_id),
    )


async def former_key(connection: Connection, public_key: bytes) -> FormerKeyOwner | None:
    """Return the node that had this key before, and which generation its key has now."""
    return await fetch_optional(
        connection,
        FormerKeyOwner,
        "SELECT n.id, n.key_generation FROM node_former_keys f JOIN nodes n ON n.id = f.node_id WHERE f.public_key = %s"
        " LIMIT 1",
        (public_key,),
    )


async def former_keys_delete(connection: Connection, node_id: str, before: int) -> None:
    await connection.execute(
        "DELETE FROM node_former_keys WHERE node_id = %s AND key_generation < %s", (node_id, before)
    )


async def misuse_insert(
    connection: Connection, node_id: str, generation: int, action: str, code: str, address: str, now: datetime
) -> bool:
    """Store the misuse; return False when it was seen before."""
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


async def keys_ending(connection: Connection, now: datetime, late: datetime) -> EndingKeys:
    """Count the keys of nodes in use that have ended, and those that end before `late`."""
    return await fetch_one(
        connection,
        EndingKeys,
        "SELECT count(*) FILTER (WHERE key_expires_at <= %s) AS expired,"
        " count(*) FILTER (WHERE key_expires_at > %s) AS late FROM nodes WHERE retired_at IS NULL AND key_expires_at < %s",
        (now, now, late),
    )
