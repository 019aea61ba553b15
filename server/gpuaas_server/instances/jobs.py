"""The jobs of instances: what follows when a controller loses its right, falls silent, or trust changes."""

from datetime import datetime

from gpuaas_server.controllers import service as controllers
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import flags, health
from gpuaas_server.instances.controller import offer_again
from gpuaas_server.instances.locked_instance import REPORT_LIFE, lock_any_instance
from gpuaas_server.kernel.context import Tx
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import LEASED
from gpuaas_server.work import leases


class ControllerLeasesJob:
    """Ends the leases of a service account that may no longer control an app, or not there: another replica resumes the
    operations.

    The subject is the service account. What it may control is asked anew, so it can run at any time.
    """

    kind = identity.CONTROLLER_LEASES_END

    async def run(self, tx: Tx, subject: str) -> None:
        for operation_id in await controllers.leased_without_right(tx.connection, subject):
            instance_id = await operations.operation_instance(tx.connection, operation_id)
            locked = None if instance_id is None else await lock_any_instance(tx, instance_id)
            operation = await operations.operation_lock(tx.connection, operation_id)
            if locked is not None and operation is not None and operation.status in LEASED:
                await offer_again(locked, operation)
                await locked.store()


class InstanceHealthJob:
    """Derives health anew when the last report has become too old: a controller that is silent is not believed.

    It also runs when what the platform knows of a host has changed (allocation_changes.py). The next report watches again.
    """

    kind = health.WORK

    async def run(self, tx: Tx, subject: str) -> datetime | None:
        locked = await lock_any_instance(tx, subject)
        if locked is None or locked.row.decommissioned_at is not None:
            return None
        await locked.store()
        if locked.row.reported_at is None:
            return None
        due: datetime = locked.row.reported_at + REPORT_LIFE
        return due if due > tx.now else None


class InstanceFlagJob:
    """Derives the flags of instances after a change of trust. Flags follow from facts, so it can run at any time."""

    kind = flags.WORK

    async def run(self, tx: Tx, subject: str) -> None:
        portion = await flags.load_portion(tx.connection, subject)
        for instance_id in portion.ids:
            locked = await lock_any_instance(tx, instance_id)
            if locked is not None:
                await flags.derive_flags(locked)
        if portion.next_subject is not None:
            await leases.enqueue(tx, flags.WORK, [portion.next_subject])
