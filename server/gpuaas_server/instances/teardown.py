"""The proof after a teardown: hosts are inspected, and what is found decides. Nothing else here knows receipts."""

from collections.abc import Sequence

from gpuaas_server.catalog.service import footprint_of
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.rows import InstanceRow, MemberRow
from gpuaas_server.operations.service import KINDS, Evidence, OperationRow
from gpuaas_server.receipts import service as receipts
from gpuaas_server.receipts.service import ProofDecision


async def start_proof(locked: LockedInstance, operation: OperationRow, members: Sequence[MemberRow]) -> bool:
    """Ask the hosts; return whether there is one to ask, in which case the operation waits for what it says.

    Where another member of the instance goes on living, the footprint is there by right: that host is looked at when the
    last of them goes.
    """
    leaving = {member.id for member in members}
    shared = {member.allocation_id for member in locked.living_members() if member.id not in leaving}
    there = [one for one in members if not one.host_gone and one.allocation_id not in shared]
    if not there:
        return False
    footprint = _footprint(locked.row)
    await receipts.start_receipts(locked.tx, _teardown(locked, operation), _targets(there), footprint)
    return True


def _footprint(instance: InstanceRow) -> dict[str, list[object]]:
    """Return the footprints of all versions that may be on the hosts, taken together."""
    merged: dict[str, list[object]] = {}
    for manifest in instance.manifests():
        for kind, entries in footprint_of(manifest, instance.inputs, instance.id).items():
            known = merged.setdefault(kind, [])
            known.extend(entry for entry in entries if entry not in known)
    return merged


def evidence_of(decision: ProofDecision) -> Evidence:
    verdict = decision.verdict
    left = [str(one) for one in (*verdict.left, *verdict.failed)]
    return Evidence(verdict.waiting, left, until=verdict.until)


async def force_proof(
    locked: LockedInstance, operation: OperationRow, members: Sequence[MemberRow], reason: str
) -> None:
    there = [member for member in members if not member.host_gone]
    await receipts.force_receipts(locked.tx, _teardown(locked, operation), _targets(there), reason)


def _targets(members: Sequence[MemberRow]) -> list[receipts.TeardownTarget]:
    return [receipts.TeardownTarget(one.id, one.allocation_id, one.node_id) for one in members]


def _teardown(locked: LockedInstance, operation: OperationRow) -> receipts.Teardown:
    depth = KINDS[operation.kind].teardown or "gone"
    return receipts.Teardown(operation.id, locked.id, locked.row.app_slug, depth, locked.row.project_id)
