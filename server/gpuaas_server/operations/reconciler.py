"""The operation machine's hands: what happens when a lease lapses, a deadline passes, or the hosts have spoken."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.instances import held as instances
from gpuaas_server.instances.held import Held
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations import queries, teardown
from gpuaas_server.operations.controller import release_lease
from gpuaas_server.operations.ending import finish
from gpuaas_server.operations.machine import VERIFYING, Snapshot, Step, Wait, decide
from gpuaas_server.operations.starting import WORK


@dataclass(frozen=True, slots=True)
class Loaded:
    operation_id: str
    instance_id: str


class OperationMachine:
    """It decides in `apply`, when the instance is held: who reports at the same moment is either before it or after."""

    kind = WORK

    async def load(self, connection: Connection, subject: str) -> Loaded | None:
        instance_id = await queries.operation_instance(connection, subject)
        return None if instance_id is None else Loaded(subject, instance_id)

    def decide(self, loaded: Loaded, now: datetime) -> None:
        """Nothing yet: see `apply`."""

    async def apply(self, tx: Tx, loaded: Loaded, decision: None) -> datetime | None:
        held = await instances.hold_any(tx, loaded.instance_id)
        operation = await queries.operation_lock(tx.connection, loaded.operation_id)
        if held is None or operation is None:
            return None
        step = decide(await _snapshot(tx, operation), tx.now)
        if isinstance(step, Wait):
            return step.until
        return await self._take(held, operation, step)

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


async def _snapshot(tx: Tx, row: DictRow) -> Snapshot:
    verifying = row["phase"] == VERIFYING
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
        evidence=await teardown.proof_read(tx, row["id"]) if verifying else None,
    )
