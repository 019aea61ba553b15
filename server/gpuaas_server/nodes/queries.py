"""All SQL of nodes as people and agents see them, and of enrolment."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)
from gpuaas_server.nodes.rows import (
    APPROVED,
    FreshNonce,
    KeyOwner,
    MappedNode,
    NewNode,
    NodeRow,
    NodeWithoutAnchor,
    RecordedClaim,
    ReportedFacts,
)

_NODE = f"SELECT {columns_of(NodeRow, 'n')} FROM nodes n LEFT JOIN node_heartbeats h ON h.node_id = n.id"
_HAS_STATUS: dict[str, str] = {
    "retired": "n.retired_at IS NOT NULL",
    "lost": "n.retired_at IS NULL AND n.lost_since IS NOT NULL",
    "ready": f"n.retired_at IS NULL AND n.lost_since IS NULL AND {APPROVED}",
    "enrolled": f"n.retired_at IS NULL AND n.lost_since IS NULL AND NOT {APPROVED}",
}


async def node_list(connection: Connection, status: str | None, page: PageRequest) -> list[NodeRow]:
    clause = _HAS_STATUS[status] if status is not None else "true"
    return await fetch_page(
        connection,
        NodeRow,
        f"{_NODE} WHERE {clause}",
        (),
        page,
        key="n.id",
    )


async def node_show(connection: Connection, node_id: str) -> NodeRow | None:
    return await fetch_optional(connection, NodeRow, f"{_NODE} WHERE n.id = %s", (node_id,))


async def nodes_mapped(connection: Connection, only: Sequence[str] | None, page: PageRequest) -> list[MappedNode]:
    """List what a map of the fleet says of a node, newest first: of these, or of all that are not retired."""
    return await fetch_page(
        connection,
        MappedNode,
        f"SELECT {columns_of(MappedNode, 'n')} FROM nodes n"
        " WHERE CASE WHEN %(only)s::text[] IS NULL THEN n.retired_at IS NULL ELSE n.id = ANY(%(only)s) END",
        {"only": None if only is None else list(only)},
        page,
        key="n.id",
    )


async def node_lock(connection: Connection, node_id: str) -> NodeRow | None:
    """Lock the node. Every change to a node begins with it: whoever has the lock decides, the next one sees the outcome."""
    return await fetch_optional(connection, NodeRow, f"{_NODE} WHERE n.id = %s FOR NO KEY UPDATE OF n", (node_id,))


async def nonces_insert(connection: Connection, nonces: Sequence[tuple[str, bytes]], now: datetime) -> list[FreshNonce]:
    """Store the nonces, and return those that nobody used before. Sorted: two replicas lock in one order."""
    ordered = sorted(nonces)
    return await fetch_all(
        connection,
        FreshNonce,
        "WITH fresh AS (INSERT INTO agent_nonces (node_id, nonce, seen_at)"
        "   SELECT i, n, %s FROM unnest(%s::text[], %s::bytea[]) AS s(i, n) ON CONFLICT DO NOTHING"
        "   RETURNING node_id, nonce)"
        " SELECT f.node_id, f.nonce, n.retired_at IS NOT NULL AS retired, n.key_generation"
        " FROM fresh f LEFT JOIN nodes n ON n.id = f.node_id",
        (now, [node_id for node_id, _ in ordered], [nonce for _, nonce in ordered]),
    )


async def node_name_taken(connection: Connection, name: str, node_id: str) -> bool:
    cursor = await connection.execute(
        "SELECT 1 FROM nodes WHERE name = %s AND id <> %s AND retired_at IS NULL", (name, node_id)
    )
    return await cursor.fetchone() is not None


async def node_names_lock(connection: Connection) -> None:
    """Let one transaction at a time give names, so that the check above is valid until the commit."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtext('node-names'))")


async def node_insert(connection: Connection, node: NewNode) -> None:
    await connection.execute(values_insert("nodes", NewNode), values_of(node))
    await connection.execute(
        "INSERT INTO node_heartbeats (node_id, last_seen_at) VALUES (%s, %s)", (node.id, node.created_at)
    )


async def node_by_key(connection: Connection, public_key: bytes) -> KeyOwner | None:
    return await fetch_optional(
        connection,
        KeyOwner,
        f"SELECT {columns_of(KeyOwner)} FROM nodes WHERE public_key = %s FOR UPDATE",
        (public_key,),
    )


async def node_update(connection: Connection, node_id: str, name: str, labels: str, erase_drives: bool) -> None:
    await connection.execute(
        "UPDATE nodes SET name = %s, labels = %s, erase_drives = %s, generation = generation + 1 WHERE id = %s",
        (name, labels, erase_drives, node_id),
    )


async def node_maintenance_set(
    connection: Connection, node_id: str, reason: str, by: str, draining: bool, now: datetime
) -> None:
    await connection.execute(
        "UPDATE nodes SET cordoned = true, draining = %s, drain_at = NULL, maintenance_reason = %s, maintenance_by = %s,"
        " maintenance_since = CASE WHEN cordoned THEN maintenance_since ELSE %s END,"
        " generation = generation + 1 WHERE id = %s",
        (draining, reason, by, now, node_id),
    )


async def node_maintenance_end(connection: Connection, node_id: str) -> None:
    await connection.execute(
        "UPDATE nodes SET cordoned = false, draining = false, drain_at = NULL, maintenance_reason = NULL,"
        " maintenance_by = NULL, maintenance_since = NULL, generation = generation + 1 WHERE id = %s",
        (node_id,),
    )


async def node_drain_plan(connection: Connection, node_id: str, drain_at: datetime) -> None:
    """Store when the drain begins. The statement that cordoned the node has counted the change."""
    await connection.execute("UPDATE nodes SET drain_at = %s WHERE id = %s", (drain_at, node_id))


async def node_retire(connection: Connection, node_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE nodes SET retired_at = %s, lost_since = NULL, drain_at = NULL, generation = generation + 1 WHERE id = %s",
        (now, node_id),
    )
    await connection.execute(
        "UPDATE node_tasks SET status = 'superseded', reported_at = %s WHERE node_id = %s AND status = 'pending'",
        (now, node_id),
    )


async def node_facts_set(connection: Connection, node_id: str, facts: ReportedFacts) -> ReportedFacts | None:
    """Store the facts, and return those of before. None when a heartbeat says nothing new: then nothing is written."""
    values = values_of(facts)
    return await fetch_optional(
        connection,
        ReportedFacts,
        "UPDATE nodes n SET agent_version = %s, boot_id = %s, ssh_host_public_key = %s, tls_anchors = %s,"
        " generation = n.generation + 1 FROM nodes o WHERE n.id = %s AND o.id = n.id"
        " AND (n.agent_version, n.boot_id, n.ssh_host_public_key, n.tls_anchors) IS DISTINCT FROM (%s, %s, %s, %s::text[])"
        " RETURNING o.agent_version, o.boot_id, o.ssh_host_public_key, o.tls_anchors",
        (*values, node_id, *values),
    )


async def nodes_without_anchor(connection: Connection, digest: str, limit: int) -> list[NodeWithoutAnchor]:
    """List nodes in use that have not confirmed the CA, live ones first. A node with an empty list of CAs uses no TLS."""
    return await fetch_all(
        connection,
        NodeWithoutAnchor,
        "SELECT id, name, lost_since IS NOT NULL AS lost, count(*) FILTER (WHERE lost_since IS NULL) OVER () AS alive,"
        " count(*) OVER () AS total FROM nodes WHERE retired_at IS NULL"
        " AND (tls_anchors IS NULL OR (tls_anchors <> '{}' AND NOT %s = ANY(tls_anchors)))"
        " ORDER BY lost_since IS NOT NULL, name LIMIT %s",
        (digest, limit),
    )


async def node_inventory_set(connection: Connection, node_id: str, inventory: str, digest: bytes) -> bool:
    """Store the inventory; return False when the same one was reported before."""
    cursor = await connection.execute(
        "UPDATE nodes SET inventory = %s, inventory_digest = %s, generation = generation + 1"
        " WHERE id = %s AND inventory_digest IS DISTINCT FROM %s RETURNING id",
        (inventory, digest, node_id, digest),
    )
    return await cursor.fetchone() is not None


async def node_inventory_forget(connection: Connection, node_id: str) -> None:
    """Drop the digest, so that the next inventory is applied even when it is the same."""
    await connection.execute("UPDATE nodes SET inventory_digest = NULL WHERE id = %s", (node_id,))


async def nodes_lost(connection: Connection, node_ids: Sequence[str]) -> set[str]:
    statement = "SELECT id FROM nodes WHERE id = ANY(%s) AND lost_since IS NOT NULL"
    return set(await fetch_values(connection, str, statement, (list(node_ids),)))


async def host_certificate_insert(
    connection: Connection,
    node_id: str,
    allocation_id: str | None,
    address: str,
    fingerprint: str,
    valid_before: datetime,
    now: datetime,
) -> int:
    serial = await fetch_value(
        connection,
        int,
        "INSERT INTO ssh_host_certificates (node_id, allocation_id, address, fingerprint, valid_before, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s) RETURNING serial",
        (node_id, allocation_id, address, fingerprint, valid_before, now),
    )
    return serial or 0


async def host_certificates_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM ssh_host_certificates WHERE serial = ANY(ARRAY(SELECT serial"
        " FROM ssh_host_certificates WHERE valid_before < %s ORDER BY valid_before LIMIT %s))",
        (before, portion),
    )


# What is recorded of a node for its wipes


async def claim_show(connection: Connection, node_id: str) -> RecordedClaim | None:
    return await fetch_optional(
        connection, RecordedClaim, f"SELECT {columns_of(RecordedClaim)} FROM nodes WHERE id = %s", (node_id,)
    )


async def claim_record(
    connection: Connection, node_id: str, configuration: str | None, agent_sha256: str | None
) -> bool:
    """Record the claim; return False while a tenant has the whole host, or has left it without a proof."""
    cursor = await connection.execute(
        "UPDATE nodes n SET configuration = %s, agent_sha256 = %s, differing_claim = NULL, generation = n.generation + 1"
        " WHERE n.id = %s AND NOT n.facts_frozen AND NOT EXISTS (SELECT 1 FROM allocation_resource_claims c"
        "  WHERE c.node_id = n.id AND c.kind = 'node_exclusive' AND c.released_at IS NULL) RETURNING n.id",
        (configuration, agent_sha256, node_id),
    )
    return await cursor.fetchone() is not None


async def claim_differs(connection: Connection, node_id: str, digest: str | None) -> None:
    await connection.execute("UPDATE nodes SET differing_claim = %s WHERE id = %s", (digest, node_id))


async def facts_frozen_set(connection: Connection, node_id: str, frozen: bool) -> None:
    await connection.execute(
        "UPDATE nodes SET facts_frozen = %s WHERE id = %s AND facts_frozen <> %s", (frozen, node_id, frozen)
    )
