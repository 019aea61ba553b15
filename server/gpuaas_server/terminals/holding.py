"""The verbs of whoever holds a terminal: take it for the host that came, renew, end. One transaction each."""

from dataclasses import dataclass, replace
from datetime import timedelta

from psycopg.rows import DictRow

from gpuaas_server.access.allocation_access import allocation_place
from gpuaas_server.access.issuing import Issue, certificates_issue
from gpuaas_server.allocations.service import AllocationAccess
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.kernel.context import Actor, Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.networks import is_address
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import read_public_key
from gpuaas_server.terminals import queries, service
from gpuaas_server.terminals.machine import LEASE, End

# Good for the log-in alone: what it opened goes on, and is ended by other means.
LOGIN = timedelta(minutes=2)
# A bare-metal host logs in to itself by loopback, a slice is entered from its own address.
LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass(frozen=True, slots=True)
class Taken:
    """A terminal that is ours to carry, and what the host needs to log in to itself."""

    row: DictRow
    certificate: str


@dataclass(frozen=True, slots=True)
class Answering:
    """The node that answers, and which of its keys it does it with."""

    node: Actor
    key_generation: int


async def terminal_take(platform: Platform, by: Answering, terminal_id: str, public_key: str, holder: str) -> Taken:
    """The certificate is in the name of who opened the terminal: it is listed, and revoked, with their others. It opens the
    allocation from the host itself only, so that nobody who copied the node's key can use it elsewhere.
    """
    node = by.node
    public = read_public_key(public_key)
    authority = pki.signer(await pki.live_keys(platform, "ssh_user_ca"), platform.clock())
    async with platform.transaction(PLATFORM, node) as tx:
        taking = (terminal_id, node.id, by.key_generation, holder)
        row = await queries.terminal_take(tx.connection, *taking, tx.now, tx.now + LEASE)
        if row is None:
            raise Problem("conflict", "The terminal is not waited for on this node, or not any more.")
        place = await allocation_place(tx.connection, row["project_id"], row["allocation_id"])
        wish = Issue(public, tx.now + LOGIN, authority, terminal_id=terminal_id, sources=_on_the_host(place))
        [issued] = await certificates_issue(_for_opener(tx, row), [place], wish)
        details: dict[str, object] = {"serial": issued.serial, "opened_by": row["opened_by"]}
        at = (row["tenant_id"], row["project_id"])
        await record(tx, AuditEntry("agent_terminal_stream", terminal_id, *at, details=details))
        tx.wakeups.add(service.topic(terminal_id))
    return Taken(row, issued.certificate)


def _on_the_host(place: AllocationAccess) -> tuple[str, ...]:
    address = "" if place.ssh is None else place.ssh.address
    return (*LOOPBACK, address) if is_address(address) else LOOPBACK


def _for_opener(tx: Tx, row: DictRow) -> Tx:
    """The same transaction, acting for who opened it."""
    opener = Actor(row["opened_by"], row["opened_by_kind"], row["opened_by_name"], row["tenant_id"])
    return replace(tx, actor=replace(opener, correlation_id=row["correlation_id"], address=row["address"]))


async def terminal_opened(platform: Platform, row: DictRow) -> bool:
    async with platform.transaction(PLATFORM, _carrier(row)) as tx:
        return await service.terminal_opened(tx, row["id"], row["holder"]) is not None


async def terminal_renew(platform: Platform, row: DictRow, bytes_in: int, bytes_out: int) -> bool:
    """With what was carried so far: others end terminals, too, and then what stands in the row is what is audited."""
    async with platform.database.connection(PLATFORM) as connection:
        until = platform.clock() + LEASE
        return await queries.terminal_renew(connection, row["id"], row["holder"], until, bytes_in, bytes_out)


async def terminal_state(platform: Platform, terminal_id: str) -> DictRow | None:
    async with platform.database.connection(PLATFORM) as connection:
        return await queries.terminal_find(connection, terminal_id)


async def terminal_end(platform: Platform, row: DictRow, why: End, bytes_in: int = 0, bytes_out: int = 0) -> End:
    """Unless it has ended already: then what was said first stands, and is the answer."""
    async with platform.transaction(PLATFORM, _carrier(row)) as tx:
        if bytes_in or bytes_out:
            await queries.bytes_set(tx.connection, row["id"], bytes_in, bytes_out)
        if await service.terminals_end(tx, [row["id"]], why):
            return why
        known = await queries.terminal_find(tx.connection, row["id"])
        return why if known is None else End(known["reason"], known["sentence"], known["exit_status"])


def _carrier(row: DictRow) -> Actor:
    return system_actor("terminals", row["correlation_id"])
