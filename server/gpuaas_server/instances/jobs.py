"""The jobs of instances: what follows when a controller loses its right, falls silent, or trust changes; drift, and smoke
launches.
"""

from datetime import datetime, timedelta

from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.artifacts.service import Outcome
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import service as catalog
from gpuaas_server.controllers import service as controllers
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import drift, drift_attempts, flags, health, member_queries
from gpuaas_server.instances.controller import offer_again
from gpuaas_server.instances.drift_rows import Drift, ObstacleDocument
from gpuaas_server.instances.locked_instance import (
    DRIFT_WORK,
    REPORT_LIFE,
    SMOKE_WORK,
    LockedInstance,
    lock_any_instance,
)
from gpuaas_server.instances.machine import closed
from gpuaas_server.instances.operation_start import start_instance_operation
from gpuaas_server.instances.rows import InstanceRow
from gpuaas_server.instances.smoke_launches import Verdict, decide_verdict
from gpuaas_server.instances.version_check import refuse_version
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import KINDS, LEASED, OperationRequest, OperationRow
from gpuaas_server.projects import service as projects
from gpuaas_server.work import leases

# Between two looks at operations, each of which has its own deadline. The end of one wakes the row long before.
PAUSE = timedelta(minutes=10)
REASON = "The smoke launch has ended."


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


class InstanceDriftJob:
    """Runs when drift has come, gone or changed (LockedInstance), and when the next attempt is due. It never polls.

    The subject is the instance with the revision of its drift: a row that is older than the newest one decides nothing.
    """

    kind = DRIFT_WORK

    def __init__(self, platform: Platform) -> None:
        self._settings = platform.settings

    async def run(self, tx: Tx, subject: str) -> datetime | None:
        instance_id, revision = subject.split(" ")
        locked = await lock_any_instance(tx, instance_id)
        if locked is None or Drift.of(locked.row.drift).revision != int(revision):
            return None
        view = locked.drift_view()
        if view.policy == "auto" and view.found and view.live is None:
            view = locked.drift_view(await self._obstacle(locked))
        step = drift.decide(view, tx.now)
        locked.drift_decided = True
        await drift_attempts.apply_step(locked, step)
        await locked.store()
        return step.drift.next_attempt_at

    async def _obstacle(self, locked: LockedInstance) -> ObstacleDocument | None:
        """Find what keeps the app's controller from carrying out a reconcile. Whatever ends it changes the instance, or lets
        its controller report, and so leads here again.
        """
        row, connection = locked.row, locked.tx.connection
        target = await projects.project_target(connection, row.project_id)
        if target is None or target.disabled or target.deleting:
            return _obstacle("disabled", "The project or its tenant is disabled or to be deleted.", "Enable it again.")
        place = (row.tenant_id, row.project_id)
        found = await controllers.statuses(connection, self._settings, locked.tx.now, *place, [row.app_slug])
        serving = found[row.app_slug]
        if serving.state != "live":
            return _obstacle(serving.state, serving.message, serving.next_step or "")
        shut = closed(row.mode, "reconcile")
        if shut is not None:
            return _obstacle("closed_in_mode", shut["message"], shut["next_step"])
        try:
            await refuse_version(connection, row, row.current_version())
        except Problem as problem:
            return _obstacle(problem.code, problem.detail, "Upgrade the instance, or decommission it.")
        return None


def _obstacle(code: str, message: str, next_step: str) -> ObstacleDocument:
    return {"code": code, "message": message, "next_step": next_step}


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
