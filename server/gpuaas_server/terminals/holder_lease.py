"""The lease of the process that holds a terminal: claim it when the host comes, renew it, end it. One transaction each."""

from dataclasses import replace
from datetime import timedelta

from gpuaas_server.access.service import CertificateSources, IssueRequest, certificates_issue, require_allocation
from gpuaas_server.allocations.service import AllocationAccess
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.kernel.context import Actor, Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.networks import is_address
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import read_public_key
from gpuaas_server.terminals import queries, service
from gpuaas_server.terminals.machine import LEASE, End
from gpuaas_server.terminals.rows import TerminalRow

# How long the certificate is valid. It is needed only for the log-in: the open shell continues and is ended by other means.
LOGIN = timedelta(minutes=2)
# A bare-metal host logs in to itself by loopback, a slice is entered from its own address.
LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass(frozen=True, slots=True)
class ClaimedTerminal:
    """A terminal that this process has claimed, and what the host needs to log in to itself."""

    row: TerminalRow
    certificate: str


@dataclass(frozen=True, slots=True)
class AnsweringNode:
    """The node that answers, and the generation of the key that it signed with."""

    node: Actor
    key_generation: int


async def terminal_take(
    platform: Platform, by: AnsweringNode, terminal_id: str, public_key: str, holder: str
) -> ClaimedTerminal:
    """Claim the terminal for this process, and issue the certificate for the host's log-in.

    The certificate is in the name of the person who opened the terminal: it is listed, and revoked, with their others. It
    opens the allocation from the host itself only, so that nobody who copied the node's key can use it elsewhere.
    """
    node = by.node
    public = read_public_key(public_key)
    authority = pki.signer(await pki.live_keys(platform, "ssh_user_ca"), platform.clock())
    async with platform.transaction(PLATFORM, node) as tx:
        taking = (terminal_id, node.id, by.key_generation, holder)
        row = await queries.terminal_take(tx.connection, *taking, tx.now, tx.now + LEASE)
        if row is None:
            raise Problem("conflict", "No terminal with this id is expected on this node.")
        allocation = await require_allocation(tx.connection, row.project_id, row.allocation_id)
        issue = IssueRequest(public, tx.now + LOGIN, authority, _on_the_host(allocation), terminal_id=terminal_id)
        [issued] = await certificates_issue(_for_opener(tx, row), [allocation], issue)
        details: dict[str, object] = {"serial": issued.serial, "opened_by": row.opened_by}
        at = (row.tenant_id, row.project_id)
        await record(tx, AuditEntry("agent_terminal_stream", terminal_id, *at, details=details))
        tx.wakeups.add(service.topic(terminal_id))
    return ClaimedTerminal(row, issued.certificate)


def _on_the_host(allocation: AllocationAccess) -> CertificateSources:
    address = "" if allocation.ssh is None else allocation.ssh.address
    return CertificateSources((*LOOPBACK, address) if is_address(address) else LOOPBACK)


def _for_opener(tx: Tx, row: TerminalRow) -> Tx:
    """Return the same transaction, acting for the person who opened the terminal."""
    opener = Actor(row.opened_by, row.opened_by_kind, row.opened_by_name, row.tenant_id)
    return replace(tx, actor=replace(opener, correlation_id=row.correlation_id, address=row.address))


async def terminal_opened(platform: Platform, row: TerminalRow) -> bool:
    async with platform.transaction(PLATFORM, _system_actor(row)) as tx:
        return await service.terminal_opened(tx, row.id, row.holder) is not None


async def terminal_renew(platform: Platform, row: TerminalRow, bytes_in: int, bytes_out: int) -> bool:
    """Renew the lease and store the bytes so far: others end terminals too, and then the row is what is audited."""
    async with platform.database.connection(PLATFORM) as connection:
        until = platform.clock() + LEASE
        return await queries.terminal_renew(connection, row.id, row.holder, until, bytes_in, bytes_out)


async def terminal_state(platform: Platform, terminal_id: str) -> TerminalRow | None:
    async with platform.database.connection(PLATFORM) as connection:
        return await queries.terminal_find(connection, terminal_id)


async def terminal_end(platform: Platform, row: TerminalRow, why: End, bytes_in: int = 0, bytes_out: int = 0) -> End:
    """End the terminal. When it has ended already, the first reason stands and is returned."""
    async with platform.transaction(PLATFORM, _system_actor(row)) as tx:
        if bytes_in or bytes_out:
            await queries.bytes_set(tx.connection, row.id, bytes_in, bytes_out)
        if await service.terminals_end(tx, [row.id], why):
            return why
        known = await queries.terminal_find(tx.connection, row.id)
        return why if known is None else service.stored_end(known)


def _system_actor(row: TerminalRow) -> Actor:
    return system_actor("terminals", row.correlation_id)
