"""All SQL of nodes as people and agents see them, and of enrolment."""

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed

_NODE = (
    "n.id, n.name, n.hostname, n.address, n.slice_addresses, n.source_networks, n.ssh_host_public_key, n.agent_version,"
    " n.boot_id, n.cordoned, n.draining, n.maintenance_reason, n.maintenance_since, n.maintenance_by, n.lost_since,"
    " n.retired_at, n.inventory, n.labels, n.key_generation, n.key_expires_at, n.generation, n.created_at, n.erase_drives,"
    " n.agent_sha256, encode(sha256(convert_to(n.configuration, 'UTF8')), 'hex') AS configuration_sha256,"
    " n.differing_claim IS NOT NULL AS claim_differs, h.last_seen_at, EXISTS (SELECT 1 FROM"
    " maintenance_windows m WHERE m.node_id = n.id AND (m.state = 'planned' OR m.state = 'active')) AS window_live"
)
_FROM = " FROM nodes n LEFT JOIN node_heartbeats h ON h.node_id = n.id"
_APPROVED = "EXISTS (SELECT 1 FROM node_resource_slots s WHERE s.node_id = n.id AND s.approved_at IS NOT NULL)"
_HAS_STATUS: dict[str, LiteralString] = {
    "retired": "n.retired_at IS NOT NULL",
    "lost": "n.retired_at IS NULL AND n.lost_since IS NOT NULL",
    "ready": f"n.retired_at IS NULL AND n.lost_since IS NULL AND {_APPROVED}",
    "enrolled": f"n.retired_at IS NULL AND n.lost_since IS NULL AND NOT {_APPROVED}",
}


async def node_list(connection: Connection, status: str | None, after: str | None, limit: int) -> list[DictRow]:
    clause = _HAS_STATUS[status] if status is not None else "true"
    cursor = await connection.execute(
        f"SELECT {_NODE}, {_APPROVED} AS approved {_FROM} WHERE {clause} AND n.id < coalesce(%s, 'zzz')"
        " ORDER BY n.id DESC LIMIT %s",
        (after, limit),
    )
    return await cursor.fetchall()


async def node_show(connection: Connection, node_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_NODE}, {_APPROVED} AS approved {_FROM} WHERE n.id = %s", (node_id,))
    return await cursor.fetchone()


async def nodes_mapped(
    connection: Connection, only: Sequence[str] | None, after: str | None, limit: int
) -> list[DictRow]:
    """What a map of the fleet says of a node, newest first: of these, or of all that are not retired."""
    cursor = await connection.execute(
        f"SELECT n.id, n.name, n.cordoned, n.draining, n.lost_since, n.retired_at, {_APPROVED} AS approved FROM nodes n"
        " WHERE CASE WHEN %(only)s::text[] IS NULL THEN n.retired_at IS NULL ELSE n.id = ANY(%(only)s) END"
        " AND n.id < coalesce(%(after)s, 'zzz') ORDER BY n.id DESC LIMIT %(limit)s",
        {"only": None if only is None else list(only), "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def node_lock(connection: Connection, node_id: str) -> DictRow | None:
    """First statement of every change to a node: whoever holds the row decides, the next one sees the outcome."""
    cursor = await connection.execute(
        f"SELECT {_NODE}, {_APPROVED} AS approved {_FROM} WHERE n.id = %s FOR NO KEY UPDATE OF n", (node_id,)
    )
    return await cursor.fetchone()


async def nonces_insert(connection: Connection, nonces: Sequence[tuple[str, bytes]], now: datetime) -> list[DictRow]:
    """Those that nobody used before, and whether their node is retired. Sorted: two replicas lock in one order."""
    ordered = sorted(nonces)
    cursor = await connection.execute(
        "WITH fresh AS (INSERT INTO agent_nonces (node_id, nonce, seen_at)"
        "   SELECT i, n, %s FROM unnest(%s::text[], %s::bytea[]) AS s(i, n) ON CONFLICT DO NOTHING"
        "   RETURNING node_id, nonce)"
        " SELECT f.node_id, f.nonce, n.retired_at IS NOT NULL AS retired, n.key_generation"
        " FROM fresh f LEFT JOIN nodes n ON n.id = f.node_id",
        (now, [node_id for node_id, _ in ordered], [nonce for _, nonce in ordered]),
    )
    return await cursor.fetchall()


async def node_name_taken(connection: Connection, name: str, node_id: str) -> bool:
    cursor = await connection.execute(
        "SELECT 1 FROM nodes WHERE name = %s AND id <> %s AND retired_at IS NULL", (name, node_id)
    )
    return await cursor.fetchone() is not None


async def node_names_lock(connection: Connection) -> None:
    """Names are given one at a time, so that the check above holds until the commit."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtext('node-names'))")


async def node_insert(connection: Connection, row: Sequence[object], now: datetime) -> None:
    """Row of (id, name, hostname, address, slice_addresses, public_key, ssh_host_public_key, agent_version,
    key_expires_at, configuration, agent_sha256).
    """
    await connection.execute(
        "INSERT INTO nodes (id, name, hostname, address, slice_addresses, public_key, ssh_host_public_key, agent_version,"
        " key_expires_at, configuration, agent_sha256, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [*row, now],
    )
    await connection.execute("INSERT INTO node_heartbeats (node_id, last_seen_at) VALUES (%s, %s)", (row[0], now))


async def node_by_key(connection: Connection, public_key: bytes) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT id, retired_at FROM nodes WHERE public_key = %s FOR UPDATE", (public_key,)
    )
    return await cursor.fetchone()


async def node_update(connection: Connection, node_id: str, name: str, labels: str, erase_drives: bool) -> None:
    await connection.execute(
        "UPDATE nodes SET name = %s, labels = %s, erase_drives = %s, generation = generation + 1 WHERE id = %s",
        (name, labels, erase_drives, node_id),
    )


async def node_maintenance_set(
    connection: Connection, node_id: str, reason: str, by: str, draining: bool, now: datetime
) -> None:
    await connection.execute(
        "UPDATE nodes SET cordoned = true, draining = %s, maintenance_reason = %s, maintenance_by = %s,"
        " maintenance_since = CASE WHEN cordoned THEN maintenance_since ELSE %s END,"
        " generation = generation + 1 WHERE id = %s",
        (draining, reason, by, now, node_id),
    )


async def node_maintenance_end(connection: Connection, node_id: str) -> None:
    await connection.execute(
        "UPDATE nodes SET cordoned = false, draining = false, maintenance_reason = NULL, maintenance_by = NULL,"
        " maintenance_since = NULL, generation = generation + 1 WHERE id = %s",
        (node_id,),
    )


async def node_retire(connection: Connection, node_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE nodes SET retired_at = %s, lost_since = NULL, generation = generation + 1 WHERE id = %s",
        (now, node_id),
    )
    await connection.execute(
        "UPDATE node_tasks SET status = 'superseded', reported_at = %s WHERE node_id = %s AND status = 'pending'",
        (now, node_id),
    )


NODE_FACTS = ("agent_version", "boot_id", "ssh_host_public_key", "tls_anchors")


async def node_facts_set(connection: Connection, node_id: str, facts: Sequence[object]) -> DictRow | None:
    """Facts by NODE_FACTS. None when the heartbeat says nothing new, which is nearly always: then nothing is written."""
    cursor = await connection.execute(
        "UPDATE nodes n SET agent_version = %s, boot_id = %s, ssh_host_public_key = %s, tls_anchors = %s,"
        " generation = n.generation + 1 FROM nodes o WHERE n.id = %s AND o.id = n.id"
        " AND (n.agent_version, n.boot_id, n.ssh_host_public_key, n.tls_anchors) IS DISTINCT FROM (%s, %s, %s, %s::text[])"
        " RETURNING o.agent_version, o.boot_id, o.ssh_host_public_key, o.tls_anchors",
        (*facts, node_id, *facts),
    )
    return await cursor.fetchone()


async def nodes_without_anchor(connection: Connection, digest: str, limit: int) -> list[DictRow]:
    """Nodes in use that have not confirmed the CA, those that are heard of first. An empty list of CAs: no TLS there."""
    cursor = await connection.execute(
        "SELECT id, name, lost_since IS NOT NULL AS lost, count(*) FILTER (WHERE lost_since IS NULL) OVER () AS heard,"
        " count(*) OVER () AS total FROM nodes WHERE retired_at IS NULL"
        " AND (tls_anchors IS NULL OR (tls_anchors <> '{}' AND NOT %s = ANY(tls_anchors)))"
        " ORDER BY lost_since IS NOT NULL, name LIMIT %s",
        (digest, limit),
    )
    return await cursor.fetchall()


async def node_inventory_set(connection: Connection, node_id: str, inventory: str, digest: bytes) -> bool:
    """False when the same inventory was reported before."""
    cursor = await connection.execute(
        "UPDATE nodes SET inventory = %s, inventory_digest = %s, generation = generation + 1"
        " WHERE id = %s AND inventory_digest IS DISTINCT FROM %s RETURNING id",
        (inventory, digest, node_id, digest),
    )
    return await cursor.fetchone() is not None


async def node_inventory_forget(connection: Connection, node_id: str) -> None:
    """The next inventory is applied, whatever it says."""
    await connection.execute("UPDATE nodes SET inventory_digest = NULL WHERE id = %s", (node_id,))


async def nodes_lost(connection: Connection, node_ids: Sequence[str]) -> set[str]:
    cursor = await connection.execute(
        "SELECT id FROM nodes WHERE id = ANY(%s) AND lost_since IS NOT NULL", (list(node_ids),)
    )
    return {row["id"] for row in await cursor.fetchall()}


async def host_certificate_insert(
    connection: Connection,
    node_id: str,
    allocation_id: str | None,
    address: str,
    fingerprint: str,
    valid_before: datetime,
    now: datetime,
) -> int:
    cursor = await connection.execute(
        "INSERT INTO ssh_host_certificates (node_id, allocation_id, address, fingerprint, valid_before, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s) RETURNING serial",
        (node_id, allocation_id, address, fingerprint, valid_before, now),
    )
    return int((await cursor.fetchall())[0]["serial"])


async def host_certificates_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM ssh_host_certificates WHERE serial = ANY(ARRAY(SELECT serial"
        " FROM ssh_host_certificates WHERE valid_before < %s ORDER BY valid_before LIMIT %s))",
        (before, portion),
    )
