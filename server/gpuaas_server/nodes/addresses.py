"""Decides which network addresses belong to a node: its own, and those of the slices on it. Each belongs to one node.

The agent reports them, and the report counts while no tenant is on the host. While one is, the record stands: whoever is
root there could report anything. An administrator may set the host's address at any time.
"""

from collections.abc import Sequence

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.networks import network_of, parse_address
from gpuaas_server.kernel.ssh_targets import normal_target_address
from gpuaas_server.nodes import address_queries as queries
from gpuaas_server.nodes import node_key_queries

CLAIM_DIFFERS = "node.claim_differs"
LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass(frozen=True, slots=True)
class NodeAddresses:
    """The addresses that a node has. `slices` is None when the agent is of an older release, which does not say."""

    host: str
    slices: tuple[str, ...] | None

    @classmethod
    def read(cls, host: str, slices: Sequence[str] | None) -> "NodeAddresses":
        """Build it from what an agent reports, or an administrator sets, in the usual spelling."""
        return cls(host, None if slices is None else tuple(sorted(set(slices))))

    def kinds(self) -> dict[str, str]:
        return dict.fromkeys(self.slices or (), "slice") | {self.host: "host"}


async def addresses_create(tx: Tx, node_id: str, wanted: NodeAddresses) -> None:
    """Record the addresses of a new node; refuse them when another node has one of them."""
    if not await queries.addresses_insert(tx.connection, node_id, wanted.kinds(), tx.now):
        raise await _taken(tx, node_id, wanted)


async def addresses_report(tx: Tx, node_id: str, wanted: NodeAddresses) -> None:
    """Compare what an agent reports with the record. It never fails the call: a host that moved must be able to report."""
    before = await queries.addresses_of_node(tx.connection, node_id)
    if before is None:
        return
    if before.source_networks is None and not await capacity.live_claims(tx.connection, node_id):
        await node_key_queries.source_networks_set(tx.connection, node_id, source_networks_of(tx.actor.address))
    if _is_known(before.address, before.slice_addresses, before.recorded, wanted):
        return
    if await capacity.live_claims(tx.connection, node_id):
        await claim_differs(tx, node_id, "address", before.address, wanted.host, "a tenant is on the host")
        return
    owners = await queries.address_owners(tx.connection, list(wanted.kinds()))
    if set(owners.values()) - {node_id}:
        await claim_differs(tx, node_id, "address", before.address, wanted.host, "it belongs to another node")
        return
    await _replace(tx, node_id, before.recorded, wanted)
    details: dict[str, object] = {"address": {"before": before.address, "after": wanted.host}}
    await audit.record(tx, AuditEntry("agent_heartbeat", node_id, details=details))


def source_networks_of(address: str) -> list[str]:
    """Return where a node that came from this address is expected from now on.

    An IPv6 host has its /64 to itself, and a host that is the platform's own machine comes by either loopback.
    """
    try:
        is_local = parse_address(address).is_loopback
    except ValueError:
        return []
    return list(LOOPBACK) if is_local else [network_of(address)]


async def address_set(tx: Tx, node_id: str, address: str) -> None:
    """Set the address as an administrator wants it, for instance after a move to another network."""
    before = await queries.addresses_of_node(tx.connection, node_id)
    if before is not None:
        wanted = NodeAddresses.read(address, before.slice_addresses)
        await _replace(tx, node_id, before.recorded, wanted)


async def address_is_of_node(tx: Tx, node_id: str, address: str) -> bool:
    """Tell whether the node may be certified under the address.

    An agent of an older release has never reported which addresses its slices have: it gets one that nobody has, and
    keeps it. A tenant who has the whole host could ask in its name, so nothing new is given then.
    """
    before = await queries.addresses_of_node(tx.connection, node_id)
    normal = normal_target_address(address)
    if before is None or normal is None:
        return False
    if normal in before.recorded:
        return True
    if before.slice_addresses is not None or await queries.has_whole_host_tenant(tx.connection, node_id):
        return False
    return await queries.addresses_insert(tx.connection, node_id, {normal: "slice"}, tx.now)


async def addresses_forget(tx: Tx, node_id: str) -> None:
    """Delete the addresses of a retired node: another may have them."""
    await queries.addresses_delete_of_node(tx.connection, node_id)


async def claim_differs(tx: Tx, node_id: str, fact: str, recorded: object, claimed: object, why: str) -> None:
    """Tell operators that the host reports something else than what is on record. The record stands."""
    details: dict[str, object] = {"fact": fact, "recorded": recorded, "claimed": claimed, "why": why}
    await audit.record(tx, AuditEntry("node_claim_differs", node_id, details=details, outcome="denied"))
    await events.emit(tx, NewEvent(CLAIM_DIFFERS, node_id, data=details))


def _is_known(host: str, slices: list[str] | None, recorded: dict[str, str], wanted: NodeAddresses) -> bool:
    same = host == wanted.host and (wanted.slices is None or slices == list(wanted.slices))
    return same and wanted.kinds().items() <= recorded.items()


async def _replace(tx: Tx, node_id: str, recorded: dict[str, str], wanted: NodeAddresses) -> None:
    """Replace the recorded addresses. Those of an older agent's slices stay, as long as the agent does not report any."""
    kinds = wanted.kinds()
    stay = {a: k for a, k in recorded.items() if kinds.get(a, "slice" if wanted.slices is None else "") == k}
    await queries.addresses_delete(tx.connection, node_id, sorted(recorded.keys() - stay.keys()))
    missing = {address: kind for address, kind in kinds.items() if address not in stay}
    if missing and not await queries.addresses_insert(tx.connection, node_id, missing, tx.now):
        raise await _taken(tx, node_id, wanted)
    await queries.addresses_store(tx.connection, node_id, wanted.host, wanted.slices)


async def _taken(tx: Tx, node_id: str, wanted: NodeAddresses) -> Problem:
    owners = await queries.address_owners(tx.connection, list(wanted.kinds()))
    others = sorted(address for address, owner in owners.items() if owner != node_id)
    named = others[0] if others else wanted.host
    return Problem("address_taken", f"The address {named} belongs to another node.", {"addresses": others[:20]})
