"""The access that an operation gives to its controller: a certificate for each of its allocations, which ends with it."""

from datetime import timedelta

from gpuaas_server.access import credential_queries as queries
from gpuaas_server.access.certificates import CertificateSources, IssueRequest, certificates_issue
from gpuaas_server.access.schemas import MachineAccess, UnreachableAllocation
from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationAccess
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.operations.service import LeasedOperation
from gpuaas_server.pki.service import PlatformKey, SshPublicKey
from gpuaas_server.work import leases

LONGEST = timedelta(minutes=60)
HOSTS_TOLD = "operation_access_end"


@dataclass(frozen=True, slots=True)
class MachineAccessRequest:
    public: SshPublicKey
    authority: PlatformKey
    sources: CertificateSources


async def lock_operation_access(tx: Tx, operation_id: str) -> None:
    """Lock the operation's access before its lease is checked.

    Whoever ends the operation at the same moment comes before (then there is no lease any more) or after (then it ends
    what is issued here).
    """
    await queries.operation_access_lock(tx.connection, operation_id)


async def operation_certificates_issue(tx: Tx, leased: LeasedOperation, wanted: MachineAccessRequest) -> MachineAccess:
    """Issue certificates for an hour at most, never beyond the operation's deadline. The answer names what is unreachable."""
    until = min(tx.now + LONGEST, leased.deadline_at)
    login_allocations = [
        allocation
        for allocation_id in leased.allocation_ids
        if (allocation := await _login_allocation(tx, leased, allocation_id)) is not None
    ]
    open_now = [allocation for allocation in login_allocations if _reachable(allocation)]
    request = IssueRequest(wanted.public, until, wanted.authority, wanted.sources, operation_id=leased.operation_id)
    issued = await certificates_issue(tx, open_now, request)
    same = {
        "fingerprint": wanted.public.fingerprint,
        "until": until.isoformat(),
        "source_addresses": list(wanted.sources.networks or ()),
    }
    serials = {one.principal: one.serial for one in issued}
    by_owner = {leased.project_id: list(serials.values())}  # the operation's own trail has all of them
    for allocation in open_now:
        if allocation.project_id != leased.project_id:
            by_owner.setdefault(allocation.project_id, []).append(serials[allocation.allocation_id])
    action, about = "operation_machine_access", (leased.operation_id, leased.tenant_id)
    await audit.record(
        tx,
        *(AuditEntry(action, *about, owner, details={"serials": mine, **same}) for owner, mine in by_owner.items()),
    )
    return MachineAccess(
        operation_id=leased.operation_id,
        valid_before=until,
        certificates=issued,
        unreachable=[
            UnreachableAllocation(allocation_id=allocation.allocation_id, state=allocation.state)
            for allocation in login_allocations
            if not _reachable(allocation)
        ],
    )


async def _login_allocation(tx: Tx, leased: LeasedOperation, allocation_id: str) -> AllocationAccess | None:
    owner = leased.owners.get(allocation_id, leased.project_id)
    return await allocations.allocation_access(tx.connection, owner, allocation_id)


def _reachable(allocation: AllocationAccess) -> bool:
    return allocation.state == "active" and allocation.ssh is not None


async def certificates_end(tx: Tx, operation_id: str) -> None:
    """Revoke the operation's certificates, in the transaction that ends it or takes it from its holder.

    From then on no host that asks accepts them. Running hosts are told by a work row of their own (see reconciler.py):
    the caller holds locks that whoever works on an allocation may wait for.
    """
    await queries.operation_access_lock(tx.connection, operation_id)
    ended = await queries.operation_certificates_revoke(tx.connection, operation_id, tx.now)
    if not ended:
        return
    await leases.enqueue(tx, HOSTS_TOLD, [operation_id])
    reason = "The operation, or its holder's lease, has ended."
    for owner in sorted({row.project_id for row in ended}):  # whose hosts they were for
        details: dict[str, object] = {"serials": sorted(row.serial for row in ended if row.project_id == owner)}
        scope = (ended[0].tenant_id, owner)
        await audit.record(
            tx, AuditEntry("ssh_certificate_revoke", operation_id, *scope, reason=reason, details=details)
        )


async def notify_hosts(tx: Tx, operation_id: str) -> None:
    told = await queries.allocations_shut_to_operation(tx.connection, operation_id, tx.now)
    if told:
        await allocations.access_changed(tx, *told)
