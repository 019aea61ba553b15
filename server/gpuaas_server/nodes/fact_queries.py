"""All SQL of what is recorded of a node for its wipes."""

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import columns_of, fetch_optional
from gpuaas_server.nodes.rows import RecordedClaim


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
        " WHERE n.id = %s AND NOT n.facts_frozen AND NOT EXISTS (SELECT 1 FROM allocations a WHERE a.node_id = n.id"
        " AND a.ended_at IS NULL AND a.shape = 'baremetal') RETURNING n.id",
        (configuration, agent_sha256, node_id),
    )
    return await cursor.fetchone() is not None


async def claim_differs(connection: Connection, node_id: str, digest: str | None) -> None:
    await connection.execute("UPDATE nodes SET differing_claim = %s WHERE id = %s", (digest, node_id))


async def facts_frozen_set(connection: Connection, node_id: str, frozen: bool) -> None:
    await connection.execute(
        "UPDATE nodes SET facts_frozen = %s WHERE id = %s AND facts_frozen <> %s", (frozen, node_id, frozen)
    )
