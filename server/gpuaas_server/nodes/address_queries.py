"""SQL of the addresses that belong to nodes."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import fetch_mapping, fetch_optional
from gpuaas_server.nodes.rows import RecordedAddresses


async def addresses_of_node(connection: Connection, node_id: str) -> RecordedAddresses | None:
    """Lock the node's row, and return it with the addresses that are recorded as its own, each with its kind."""
    return await fetch_optional(
        connection,
        RecordedAddresses,
        "SELECT n.address, n.slice_addresses, n.source_networks,"
        " coalesce((SELECT jsonb_object_agg(a.address, a.kind) FROM node_addresses a WHERE a.node_id = n.id), '{}') AS recorded"
        " FROM nodes n WHERE n.id = %s FOR NO KEY UPDATE OF n",
        (node_id,),
    )


async def has_whole_host_tenant(connection: Connection, node_id: str) -> bool:
    """Tell whether a tenant has the whole host, or has left it without a proof."""
    cursor = await connection.execute(
        "SELECT 1 FROM nodes n WHERE n.id = %s AND (n.facts_frozen OR EXISTS (SELECT 1 FROM allocation_resource_claims c"
        " WHERE c.node_id = n.id AND c.kind = 'node_exclusive' AND c.released_at IS NULL))",
        (node_id,),
    )
    return await cursor.fetchone() is not None


async def address_owners(connection: Connection, addresses: Sequence[str]) -> dict[str, str]:
    return await fetch_mapping(
        connection,
        str,
        str,
        "SELECT address, node_id FROM node_addresses WHERE address = ANY(%s)",
        (list(addresses),),
    )


async def addresses_delete(connection: Connection, node_id: str, addresses: Sequence[str]) -> None:
    await connection.execute(
        "DELETE FROM node_addresses WHERE node_id = %s AND address = ANY(%s)", (node_id, list(addresses))
    )


async def addresses_insert(connection: Connection, node_id: str, kinds: Mapping[str, str], now: datetime) -> bool:
    """Insert the addresses; return False when one belongs to another node. Sorted, so that two inserts lock in one order."""
    ordered = sorted(kinds)
    cursor = await connection.execute(
        "INSERT INTO node_addresses (address, node_id, kind, created_at) SELECT a, %s, k, %s"
        " FROM unnest(%s::text[], %s::text[]) AS u(a, k) ON CONFLICT (address) DO NOTHING RETURNING address",
        (node_id, now, ordered, [kinds[address] for address in ordered]),
    )
    return len(await cursor.fetchall()) == len(ordered)


async def addresses_store(connection: Connection, node_id: str, address: str, slices: Sequence[str] | None) -> None:
    await connection.execute(
        "UPDATE nodes SET address = %s, slice_addresses = %s, generation = generation + 1 WHERE id = %s",
        (address, None if slices is None else list(slices), node_id),
    )


async def addresses_delete_of_node(connection: Connection, node_id: str) -> None:
    await connection.execute("DELETE FROM node_addresses WHERE node_id = %s", (node_id,))
