"""Leases of a controller that is not one any more end at once: another replica resumes, and its ways into hosts are closed."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.identity import service as identity
from gpuaas_server.instances import held as instances
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations import queries
from gpuaas_server.operations.controller import release_lease
from gpuaas_server.operations.machine import LEASED


class ControllerLeasesMachine:
    """The subject is the service account; what it may control is asked anew, so that it can run at any time."""

    kind = identity.CONTROLLER_LEASES_END

    async def load(self, connection: Connection, subject: str) -> Sequence[str]:
        """Operations that it holds the lease of and may not work on any more."""
        return await queries.leased_beyond(connection, subject, await identity.apps_controlled(connection, subject))

    def decide(self, operation_ids: Sequence[str], now: datetime) -> Sequence[str]:
        return operation_ids

    async def apply(self, tx: Tx, operation_ids: Sequence[str], decision: Sequence[str]) -> None:
        for operation_id in operation_ids:
            instance_id = await queries.operation_instance(tx.connection, operation_id)
            held = None if instance_id is None else await instances.hold_any(tx, instance_id)
            operation = await queries.operation_lock(tx.connection, operation_id)
            if held is not None and operation is not None and operation["status"] in LEASED:
                await release_lease(held, operation)
                await held.store()
