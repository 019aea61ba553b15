"""The reconciler of deletions: it waits for the grace period, purges portion by portion, and records what it removed."""

from collections import Counter
from datetime import datetime

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.deletions import machine, purge, queries, service
from gpuaas_server.deletions.inventory import KEPT
from gpuaas_server.deletions.machine import Decision, Snapshot, Step, leftovers_obstacle
from gpuaas_server.deletions.queries import DeletionRow, ScheduledDeletion
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.settings import Settings


@dataclass(frozen=True, slots=True)
class LoadedDeletion:
    """A deletion with the snapshot that its decision reads."""

    row: ScheduledDeletion
    snapshot: Snapshot


class DeletionReconciler:
    kind = service.WORK

    def __init__(self, settings: Settings, portion: int = purge.PORTION) -> None:
        self._settings = settings
        self._portion = portion

    async def load(self, connection: Connection, subject: str) -> LoadedDeletion | None:
        row = await queries.deletion_load(connection, subject)
        if row is None:
            return None
        left: tuple[machine.Leftover, ...] = ()
        if row.state == "scheduled":
            of_place = await service.projects_of(connection, row.tenant_id, row.project_id)
            left = await queries.leftovers(connection, of_place)
        return LoadedDeletion(row, Snapshot(row.state, row.delete_after, left))

    def decide(self, loaded: LoadedDeletion, now: datetime) -> Decision:
        return machine.decide(loaded.snapshot, now)

    async def apply(self, tx: Tx, loaded: LoadedDeletion, decision: Decision) -> datetime | None:
        row = loaded.row
        if decision.step is Step.WAIT:
            if decision.blocked:
                noun = "project" if row.project_id else "tenant"
                await queries.deletion_waits(
                    tx.connection, row.id, leftovers_obstacle(noun, loaded.snapshot.leftovers), tx.now
                )
            return decision.until
        if decision.step is Step.BEGIN:
            begun = await queries.deletion_moved(tx.connection, row.id, "scheduled", "purging", tx.now)
            return tx.now if begun else None
        if decision.step is Step.PURGE:
            return await self._purge(tx, row)
        if decision.step is Step.CLOSE:
            await queries.deletion_ended(tx.connection, row.id, "purged", tx.now)
        return None

    async def _purge(self, tx: Tx, row: DeletionRow) -> datetime | None:
        if row.project_id is None:
            found = await purge.purge_tenant(tx, self._settings, row.tenant_id, self._portion)
        else:
            found = await purge.purge_project(tx, self._settings, row.project_id, self._portion)
        removed = Counter(row.removed) + found.removed
        if found.obstacle is None:
            await queries.deletion_progressed(tx.connection, row.id, removed, tx.now)
        else:
            await queries.deletion_waits(tx.connection, row.id, found.obstacle, tx.now)
        if not found.done:
            return tx.now + found.pause
        await self._finish(tx, row, dict(removed))
        return None

    async def _finish(self, tx: Tx, row: DeletionRow, removed: dict[str, int]) -> None:
        tenant_id, project_id = row.tenant_id, row.project_id
        await queries.deletion_ended(tx.connection, row.id, "purged", tx.now)
        noun, subject = ("project", project_id) if project_id else ("tenant", tenant_id)
        if project_id is None:
            await queries.deletions_close(tx.connection, tenant_id, tx.now)
        details: dict[str, object] = {"removed": removed, "kept": sorted(KEPT), "requested_by": row.requested_by}
        await record(tx, AuditEntry(f"{noun}_purge", subject, tenant_id, project_id, details=details))
        # Of the platform, or of the tenant: in the place itself nobody is left to watch.
        await emit(
            tx, NewEvent(f"{noun}.deleted", subject, tenant_id if project_id else None, None, {"removed": removed})
        )
        tx.wakeups.add(identity.TOPIC)
