"""The reconciler of operations: what happens when a lease lapses, a deadline passes, or hosts have answered."""

from datetime import datetime

from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.service import TaskRow
from gpuaas_server.instances import readiness, teardown, watches
from gpuaas_server.instances.controller import offer_again
from gpuaas_server.instances.locked_instance import LockedInstance, lock_instance_rows
from gpuaas_server.instances.operation_completion import concerned_members, finish_operation
from gpuaas_server.instances.readiness import Readiness
from gpuaas_server.instances.rows import InstanceRow, MemberRow
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import (
    PROBING,
    VERIFYING,
    Evidence,
    Limits,
    OperationRow,
    Snapshot,
    Step,
)
from gpuaas_server.receipts import service as proofs
from gpuaas_server.receipts.service import Proof, ProofDecision
from gpuaas_server.work.reconcilers import Wait


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows that stay locked until the step is stored: a report at the same moment comes before it or after."""

    instance: InstanceRow
    members: list[MemberRow]
    operation: OperationRow
    proof: Proof | None  # of a teardown that is being verified
    probed: list[MemberRow]  # members whose readiness the operation waits for
    probe_tasks: dict[str, TaskRow]  # what their hosts were asked, by member


@dataclass(frozen=True, slots=True)
class Decision:
    step: Step | Wait
    proven: ProofDecision | None = None
    readiness: Readiness | None = None


class OperationReconciler:
    """Watches the lease, the deadline and the proof of each operation, and whether its members are ready."""

    kind = operations.WORK

    def __init__(self, platform: Platform) -> None:
        self._limits = Limits.of(platform.settings)

    async def load(self, connection: Connection, subject: str) -> Loaded | None:
        """Lock the instance first, then the operation, as every transaction does."""
        instance_id = await operations.operation_instance(connection, subject)
        if instance_id is None:
            return None
        instance, members = await lock_instance_rows(connection, instance_id)
        operation = await operations.operation_lock(connection, subject)
        if instance is None or operation is None:
            return None
        proof = await proofs.load_proof(connection, subject) if operation.phase == VERIFYING else None
        probed = watches.watched_members(members, subject) if operation.phase in (VERIFYING, PROBING) else []
        tasks = await host_tasks.newest_tasks(connection, [one.id for one in probed]) if probed else {}
        return Loaded(instance, members, operation, proof, probed, tasks)

    def decide(self, loaded: Loaded, now: datetime) -> Decision:
        proven = None if loaded.proof is None else proofs.decide_proof(loaded.proof, now)
        ready = readiness.judge_readiness(loaded.probed, loaded.probe_tasks, now)
        evidence = _evidence(proven, ready) if loaded.operation.phase is not None else None
        step = operations.decide(_snapshot(loaded.operation, evidence, self._limits.attempts), now)
        return Decision(step, proven, ready)

    async def apply(self, tx: Tx, loaded: Loaded, decision: Decision) -> datetime | None:
        if decision.proven is not None:
            await proofs.store_decision(tx, decision.proven)
        if isinstance(decision.step, Wait):
            return decision.step.until
        locked = LockedInstance.of(tx, loaded.instance, loaded.members)
        if decision.step.status == "failed" and decision.readiness is not None and decision.readiness.unready:
            touched = concerned_members(locked, loaded.operation)
            watches.settle_unready(locked, loaded.operation, touched, decision.readiness)
        return await self._take(locked, loaded.operation, decision.step)

    async def _take(self, locked: LockedInstance, operation: OperationRow, step: Step) -> datetime | None:
        if step.status == "pending":
            await offer_again(locked, operation)
            again: datetime | None = operation.deadline_at
        else:
            verified = operation.phase == VERIFYING if step.status == "succeeded" else None
            await finish_operation(locked, operation, step.status, step.failure, verified=verified)
            again = None
        await locked.store()
        return again


def _evidence(proven: ProofDecision | None, ready: Readiness) -> Evidence:
    """Return what the hosts say of a teardown and of readiness, taken together."""
    shown = Evidence() if proven is None else teardown.evidence_of(proven)
    ends = [at for at in (shown.until, ready.until) if at is not None]
    waiting = shown.waiting or ready.waiting
    unready = None if shown.waiting else readiness.summarize(ready.unready)
    return Evidence(waiting, shown.left, unready, min(ends, default=None))


def _snapshot(row: OperationRow, evidence: Evidence | None, attempts: int) -> Snapshot:
    return Snapshot(
        id=row.id,
        kind=row.kind,
        target=row.target,
        status=row.status,
        phase=row.phase,
        attempt=row.attempt,
        lease_until=row.lease_until,
        deadline_at=row.deadline_at,
        cancel_requested=row.cancel_requested_at is not None,
        most_attempts=attempts,
        evidence=evidence,
    )
