"""The worker of allocations: it loads the snapshot and stores the step that `machine.decide` chose."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gpuaas_server.allocations import queries, service
from gpuaas_server.allocations.hooks import Grant, allocation_hooks
from gpuaas_server.allocations.machine import CLEANUP, LOGIN_USER, WIPE, HostTask, Limits, Snapshot, Step, decide
from gpuaas_server.allocations.rows import AllocationChanges, AllocationRow, LockedAllocation, RequirementsDocument
from gpuaas_server.allocations.wipe_proof import Requirements
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.service import ClaimedSlot
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.wipe_grades import required_grade
from gpuaas_server.nodes import service as nodes
from gpuaas_server.pki import service as pki
from gpuaas_server.work.reconcilers import Wait


@dataclass(frozen=True, slots=True)
class Loaded:
    """The allocation's row, locked until the step is stored; what decides; and what a host may have to be told."""

    row: LockedAllocation
    snapshot: Snapshot
    slots: list[ClaimedSlot]
    grants: list[Grant]
    user_ca_keys: list[str]


class AllocationReconciler:
    kind = service.WORK

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._limits = _limits(platform.settings)

    async def load(self, connection: Connection, subject: str) -> Loaded | None:
        return (await self.load_many(connection, [subject])).get(subject)

    async def load_many(self, connection: Connection, subjects: Sequence[str]) -> dict[str, Loaded]:
        """Load and order them by host: the end of an allocation locks its host, and two workers must use one order."""
        rows = await queries.allocations_lock(connection, subjects)
        newest = await host_tasks.newest_tasks(connection, subjects)
        slots = await capacity.claimed_slots(connection, subjects)
        grants = await allocation_hooks().grants_of(connection, subjects)
        ca_keys = await pki.user_ca_keys(connection)
        rows = [await self._with_baseline(connection, row) for row in rows]
        return {
            row.id: Loaded(
                row,
                await self._snapshot(connection, row, newest.get(row.id)),
                slots.get(row.id, []),
                grants.get(row.id, []),
                ca_keys,
            )
            for row in sorted(rows, key=lambda row: row.node_id)
        }

    async def _snapshot(
        self, connection: Connection, row: LockedAllocation, newest: host_tasks.TaskRow | None
    ) -> Snapshot:
        leaving = row.release_by is not None and row.state == "active"
        has_members = leaving and await allocation_hooks().has_members(connection, row.id)
        return _snapshot(row, newest, self._limits, has_members)

    async def _provisioned(self, connection: Connection, row: AllocationRow) -> bool:
        """Tell whether the host ever said that it provisioned: then it must remember, or nothing is proven."""
        if row.active_at is not None:
            return True
        sent = await host_tasks.tasks_of_resource(connection, row.id)
        return any(task.kind == "provision" and task.reported_at is not None for task in sent)

    async def _with_baseline(self, connection: Connection, row: LockedAllocation) -> LockedAllocation:
        """Add the baseline of a host that was provisioned but released before it counted as active."""
        if row.baseline_sha256 is not None or row.state not in ("releasing", "failed"):
            return row
        for task in await host_tasks.tasks_of_resource(connection, row.id):
            digest = (task.evidence or {}).get("baseline_sha256")
            if task.kind == "provision" and isinstance(digest, str):
                return replace(row, baseline_sha256=digest)
        return row

    def decide(self, loaded: Loaded, now: datetime) -> Step | Wait:
        return decide(loaded.snapshot, now)

    async def apply(self, tx: Tx, loaded: Loaded, decision: Step | Wait) -> datetime | None:
        if isinstance(decision, Wait):
            return decision.until
        row, step = loaded.row, decision
        reason = row.release_reason if step.state == "releasing" else None
        changes = _changes(row, step, tx.now)
        if step.begins_release:
            changes["wipe_requirements"] = await _requirements(tx.connection, row)
        if step.send == WIPE and row.shape == "baremetal" and row.wipe_requirements is not None:
            changes["wipe_requirements"] = await _with_boots(tx.connection, row, row.wipe_requirements)
        changed = await service.change(tx, row, changes, reason)
        if step.failure is not None and step.state == "active":
            await service.access_not_applied(tx, changed)
        if step.slots is not None:
            await capacity.slots_mark(tx, row.id, step.slots, step.failure.code if step.failure else None)
        if step.send is not None:
            await self._send(tx, loaded, changed, step)
        if step.ends:
            await service.end_claims(tx, row)
            if row.shape == "baremetal" and step.evidence is not None:
                await nodes.facts_release(tx, row.node_id)
        elif step.state == "release_failed":
            service.move_quota(tx, row, counted=changed.counted, unproven=changed.unproven)
        return _next_run(changed, step, tx.now, loaded.snapshot.node_lost)

    async def _send(self, tx: Tx, loaded: Loaded, row: AllocationRow, step: Step) -> None:
        kind = step.send or ""
        await host_tasks.task_create(
            tx,
            node_id=row.node_id,
            tenant_id=row.tenant_id,
            kind=kind,
            resource_id=row.id,
            generation=row.host_generation,
            spec=await self._spec(tx.connection, loaded, row, kind),
            deadline=step.deadline_at or tx.now,
            notify_kind=self.kind,
            notify_subject=row.id,
        )

    async def _spec(self, connection: Connection, loaded: Loaded, row: AllocationRow, kind: str) -> dict[str, object]:
        spec: dict[str, object] = {"allocation_id": row.id, "shape": row.shape}
        if kind != "sync_access":
            spec["slots"] = [
                {
                    "slot_index": slot.slot_index,
                    "pci_address": slot.pci_address,
                    "numa_node": slot.numa_node,
                    "nvme_device": slot.nvme_device,
                }
                for slot in loaded.slots
            ]
        if kind in CLEANUP:
            spec["provisioned"] = await self._provisioned(connection, row)
        if kind in ("wipe", "verify_wipe"):
            whole = row.shape == "baremetal"
            required = Requirements.read(row.wipe_requirements)
            spec["grade"] = required.grade
            if required.wipe_id is not None:
                spec["wipe_id"] = required.wipe_id
            spec |= await nodes.wipe_order(connection, self._platform.settings, row.node_id, whole)
        if kind in ("provision", "sync_access", "deprovision"):
            spec["login_user"] = LOGIN_USER
        if kind in ("provision", "sync_access"):
            spec["principal"] = row.id
            spec["user_ca_keys"] = loaded.user_ca_keys
            spec["grants"] = loaded.grants
        if kind == "sync_access":
            spec["revoked_serials"] = await allocation_hooks().revoked_serials(connection, row.id)
        if kind == "provision":
            spec["hostname"] = row.name or row.id.replace("_", "-")[:20]
        return spec


async def _requirements(connection: Connection, row: AllocationRow) -> RequirementsDocument:
    """Return what the release that begins now has to prove; a retry begins anew, with what is asked for by then."""
    policy = await queries.wipe_policy(connection, row.id)
    grade = required_grade(row.shape, policy.sku_grade, policy.tenant_grade)
    return {"grade": grade, "accept_not_examined": policy.accept_not_examined, "boot_id": policy.boot_id}


async def _with_boots(connection: Connection, row: AllocationRow, known: RequirementsDocument) -> RequirementsDocument:
    """Add what only the wipe that is sent now can know: its random id, and the boots that it has to differ from."""
    boots = await nodes.boots_reported(connection, row.node_id, row.created_at)
    return {**known, "former_boot_ids": boots, "wipe_id": secrets.token_hex(16)}


def _limits(settings: Settings) -> Limits:
    return Limits(
        timedelta(seconds=settings.provision_deadline_seconds),
        timedelta(seconds=settings.release_deadline_seconds),
        settings.task_attempts,
    )


def _snapshot(row: LockedAllocation, task: host_tasks.TaskRow | None, limits: Limits, has_members: bool) -> Snapshot:
    newest = None
    if task is not None:
        newest = HostTask(
            task.kind,
            task.generation,
            task.status,
            task.result or {},
            task.failure,
            task.evidence or {},
            task.reported_at,
            task.spec,
            task.reported_key_generation,
        )
    return Snapshot(
        id=row.id,
        state=row.state,
        generation=row.generation,
        host_generation=row.host_generation,
        phase=row.phase,
        attempt=row.attempt,
        deadline_at=row.deadline_at,
        node_lost=row.host_lost_since is not None,
        access_wanted=row.access_wanted,
        access_sent=row.access_sent,
        baseline=row.baseline_sha256,
        task=newest,
        limits=limits,
        release_by=row.release_by,
        has_members=has_members,
        blocked_by=row.failure["code"] if row.failure else None,
        addresses=frozenset(row.node_addresses),
        shape=row.shape,
        requirements=Requirements.read(row.wipe_requirements),
        copied_key_generation=row.release_key_generation if row.shape == "baremetal" else None,
    )


def _changes(row: LockedAllocation, step: Step, now: datetime) -> AllocationChanges:
    """Return the columns that the step changes."""
    changes: AllocationChanges = {"state": step.state, "deadline_at": step.deadline_at}
    if step.state != row.state:
        changes["state_since"] = now
    if step.state == "active" and row.active_at is None:
        changes["active_at"] = now
    if step.send is not None:
        changes |= {"phase": step.send, "attempt": step.attempt, "host_generation": row.host_generation + 1}
    if step.send == CLEANUP[0]:
        changes["release_key_generation"] = row.node_key_generation
    if step.phase_done:
        changes |= {"phase": None, "attempt": 0}
    if step.state == "active" and step.phase_done:
        changes["failure"] = None
    if step.state == "releasing" and row.state == "release_failed":
        changes["failure"] = None
    if step.failure is not None:
        changes["failure"] = {**step.failure.document(), "phase": row.phase}
    if step.ssh is not None:
        changes |= {"ssh_address": step.ssh.address, "ssh_port": step.ssh.port, "ssh_user": step.ssh.user}
    if step.baseline is not None:
        changes["baseline_sha256"] = step.baseline
    if step.evidence is not None:
        changes["wipe_evidence"] = step.evidence
    if step.access_sent is not None:
        changes["access_sent"] = step.access_sent
    if step.ends:
        changes["ended_at"] = now
    return changes


def _next_run(row: AllocationRow, step: Step, now: datetime, lost: bool) -> datetime | None:
    if lost and step.send in CLEANUP:
        return now  # nobody is there to answer: the next look blocks it
    if step.state == "active" and row.access_wanted > row.access_sent:
        return now  # access changed while we were provisioning
    if step.state == "active" and row.release_by is not None:
        return min(step.deadline_at or row.release_by, row.release_by)
    return step.deadline_at
