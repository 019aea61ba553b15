"""The job of smoke launches: it has the instance removed once the launch has ended, and records what that showed."""

from datetime import datetime, timedelta

from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.artifacts.service import Outcome
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import service as catalog
from gpuaas_server.instances import member_queries
from gpuaas_server.instances.locked_instance import SMOKE_WORK, LockedInstance, lock_any_instance
from gpuaas_server.instances.operation_start import start_instance_operation
from gpuaas_server.instances.rows import InstanceRow
from gpuaas_server.instances.smoke_launches import Verdict, decide_verdict
from gpuaas_server.kernel.context import Tx, system_actor
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import KINDS, LEASED, OperationRequest, OperationRow

# Between two looks at operations, each of which has its own deadline. The end of one wakes the row long before.
PAUSE = timedelta(minutes=10)
REASON = "The smoke launch has ended."


class SmokeLaunchJob:
    """Follows the operations of a smoke launch. Everything that it decides by is in their rows, so it can begin anew at any
    time: a process that is killed costs its lease.
    """

    kind = SMOKE_WORK

    async def run(self, tx: Tx, subject: str) -> datetime | None:
        locked = await lock_any_instance(tx, subject)
        if locked is None:
            return None
        deploy = await operations.first_lock(tx.connection, subject)
        if deploy is None:
            return None
        if deploy.status in ("pending", *LEASED) or locked.live_operation() is not None:
            return tx.now + PAUSE
        removal = await _removal(tx, locked.row)
        if removal is None:
            await _remove(locked)
            return tx.now + PAUSE
        await _record(tx, locked.row, deploy, decide_verdict(deploy, removal, locked.row.version))
        return None


async def _removal(tx: Tx, row: InstanceRow) -> OperationRow | None:
    """Return the decommission, if one was the instance's last operation. Nothing follows one that succeeded."""
    last = (
        None if row.last_operation_id is None else await operations.operation_lock(tx.connection, row.last_operation_id)
    )
    return last if last is not None and KINDS[last.kind].ends_instance else None


async def _remove(locked: LockedInstance) -> None:
    tx, row = locked.tx, locked.row
    tx.actor = system_actor("platform", tx.actor.correlation_id)
    operation_id = await start_instance_operation(locked, OperationRequest("decommission", REASON))
    details: dict[str, object] = {"app": row.app_slug, "operation": operation_id}
    entry = AuditEntry("instance_decommission", row.id, row.tenant_id, row.project_id, reason=REASON, details=details)
    await record(tx, entry)
    await locked.store()


async def _record(tx: Tx, row: InstanceRow, deploy: OperationRow, verdict: Verdict) -> None:
    """Keep the verdict as evidence of what was launched. Of an image that no host probed, it would say nothing."""
    launched = next((one for one in row.versions() if one["version"] == deploy.parameters["version"]), None)
    if launched is None:  # changed twice: nothing names any more what the launch brought
        return
    placed = await member_queries.components_launched(tx.connection, row.id, deploy.created_at)
    unobserved = catalog.unobserved_images(launched["manifest"], placed)
    digests = [one for one in catalog.digests_of(launched["manifest"]) if one not in unobserved]
    found = Outcome("smoke", verdict.passed, verdict.summary, verdict.operation_id)
    await artifacts.record_launch(tx, row.project_id, digests, found)
