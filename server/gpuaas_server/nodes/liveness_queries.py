"""All SQL about signs of life, and the sweep of what agents leave behind."""

from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import fetch_all, fetch_value
from gpuaas_server.nodes.rows import LivenessCrossing, MarkedNode


async def heartbeats_upsert(connection: Connection, seen: dict[str, datetime]) -> None:
    """Store the signs of life, sorted: two replicas that heard the same nodes must not lock them in a circle."""
    ids = sorted(seen)
    await connection.execute(
        "INSERT INTO node_heartbeats AS h (node_id, last_seen_at)"
        " SELECT n.id, at FROM unnest(%s::text[], %s::timestamptz[]) AS s(node_id, at)"
        " JOIN nodes n ON n.id = s.node_id"
        " ON CONFLICT (node_id) DO UPDATE SET last_seen_at = GREATEST(h.last_seen_at, EXCLUDED.last_seen_at)",
        (ids, [seen[node_id] for node_id in ids]),
    )


async def listener_upsert(connection: Connection, process: str, since: datetime, now: datetime) -> None:
    await connection.execute(
        "INSERT INTO agent_listeners (process, listening_since, flushed_at) VALUES (%s, %s, %s)"
        " ON CONFLICT (process) DO UPDATE SET listening_since = EXCLUDED.listening_since,"
        " flushed_at = EXCLUDED.flushed_at",
        (process, since, now),
    )


async def listening_since(connection: Connection, fresh_after: datetime) -> datetime | None:
    """Return since when at least one process has heard agents without a gap; None: nobody listens now."""
    statement = "SELECT min(listening_since) FROM agent_listeners WHERE flushed_at >= %s"
    return await fetch_value(connection, datetime, statement, (fresh_after,))


async def liveness_crossings(connection: Connection, heard_after: datetime) -> list[LivenessCrossing]:
    """List nodes whose last sign of life is on the other side of the line than their mark says."""
    return await fetch_all(
        connection,
        LivenessCrossing,
        "SELECT n.id, h.last_seen_at, n.lost_since"
        " FROM nodes n JOIN node_heartbeats h ON h.node_id = n.id"
        " WHERE n.retired_at IS NULL AND (n.lost_since IS NULL) = (h.last_seen_at < %s) ORDER BY n.id LIMIT 1000",
        (heard_after,),
    )


async def nodes_mark(connection: Connection, node_ids: list[str], lost_since: datetime | None) -> list[MarkedNode]:
    """Set or clear the mark, and return the nodes; one that was retired meanwhile is left out."""
    return await fetch_all(
        connection,
        MarkedNode,
        "UPDATE nodes SET lost_since = %s, generation = generation + 1"
        " WHERE id = ANY(%s) AND retired_at IS NULL RETURNING id, cordoned",
        (lost_since, node_ids),
    )


async def sweep(connection: Connection, nonces_before: datetime, listeners_before: datetime) -> None:
    await connection.execute("DELETE FROM agent_nonces WHERE seen_at < %s", (nonces_before,))
    await connection.execute("DELETE FROM agent_listeners WHERE flushed_at < %s", (listeners_before,))
