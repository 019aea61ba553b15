"""The job of drift: it decides whether the platform requests a reconcile, and keeps why not."""

from datetime import datetime

from gpuaas_server.controllers import service as controllers
from gpuaas_server.instances import drift, drift_attempts
from gpuaas_server.instances.drift_rows import Drift, ObstacleDocument
from gpuaas_server.instances.locked_instance import DRIFT_WORK, LockedInstance, lock_any_instance
from gpuaas_server.instances.machine import closed
from gpuaas_server.instances.version_check import refuse_version
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.projects import service as projects


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
