"""The operation machine's hands: what happens when a lease lapses, a deadline passes, or the hosts have spoken."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.instances import held as instances
from gpuaas_server.instances.held import Held
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations import queries, teardown
from gpuaas_server.operations.controller import release_lease
from gpuaas_server.operations.ending import finish
from gpuaas_server.operations.machine import VERIFYING, Evidence, Limits, Snapshot, Step, Wait, decide
from gpuaas_server.operations.starting import WORK
from gpuaas_server.receipts import settling
from gpuaas_server.receipts.settling import Judgement, Proof


@dataclass(frozen=True, slots=True)
class Loaded:
    """All of it held until the step is stored: who reports at the same moment is either before it or after."""

    instance: DictRow
    members: list[DictRow]
    operation: DictRow
    proof: Proof | None  # of a teardown that is being verified


@dataclass(frozen=True, slots=True)
class Decision:
    step: Step | Wait
    judgement: Judgement | None = None


class OperationMachine:
    kind = WORK

    def __init__(self, platform: Platform) -> None:
        self._limits = Limits.of(platform.settings)

    async def load(self, connection: Connection, subject: str) -> Loaded | None:
        """The instance first, then the operation, as everybody does."""
        instance_id = await queries.operation_instance(connection, subject)
        if instance_id is None:
            return None
        instance, members = await instances.rows_hold(connection, instance_id)
        operation = await queries.operation_lock(connection, subject)
        if instance is None or operation is None:
            return None
        verifying = operation["phase"] == VERIFYING
        proof = await settling.proof_load(connection, subject) if verifying else None
        return Loaded(instance, members, operation, proof)

    def decide(self, loaded: Loaded, now: datetime) -> Decision:
        judgement = None if loaded.proof is None else settling.judge(loaded.proof, now)
        evidence = None if judgement is None else teardown.evidence_of(judgement)
        return Decision(decide(_snapshot(loaded.operation, evidence, self._limits.attempts), now), judgement)

    async def apply(self, tx: Tx, loaded: Loaded, decision: Decision) -> datetime | None:
        if decision.judgement is not None:
            await settling.judgement_store(tx, decision.judgement)
        if isinstance(decision.step, Wait):
            return decision.step.until
        held = Held.of(tx, loaded.instance, loaded.members)
        return await self._take(held, loaded.operation, decision.step)

    async def _take(self, held: Held, operation: DictRow, step: Step) -> datetime | None:
        if step.status == "pending":
            await release_lease(held, operation)
            again: datetime | None = operation["deadline_at"]
        else:
            verified = operation["phase"] == VERIFYING if step.status == "succeeded" else None
            await finish(held, operation, step.status, step.failure, verified=verified)
            again = None
        await held.store()
        return again


def _snapshot(row: DictRow, evidence: Evidence | None, attempts: int) -> Snapshot:
    return Snapshot(
        id=row["id"],
        kind=row["kind"],
        target=row["target"],
        status=row["status"],
        phase=row["phase"],
        attempt=row["attempt"],
        lease_until=row["lease_until"],
        deadline_at=row["deadline_at"],
        cancel_requested=row["cancel_requested_at"] is not None,
        most_attempts=attempts,
        evidence=evidence,
    )
