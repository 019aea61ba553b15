"""An instance with its members, locked by one transaction: changed in memory by the rules of machine.py, stored at once.

A transaction that changes anything of an instance, of a member, or of an operation on them, locks the instance first. So
nobody sees half a change, and health is derived in one place from all that it depends on.

Rows are frozen: a change puts a new row into `row` or `members`, and a row that was read before stays as it was.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Unpack

from gpuaas_server.allocations.service import AllocationFacts
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.instances import member_queries, queries
from gpuaas_server.instances.drift import DriftView, drifted_members, needs_decision
from gpuaas_server.instances.drift_rows import Drift, ObstacleDocument
from gpuaas_server.instances.machine import (
    SETTLED,
    TRANSITIONS,
    InstanceView,
    MemberView,
    Report,
    bound_shape,
    count_members,
    derive_health,
)
from gpuaas_server.instances.member_problems import problem_of
from gpuaas_server.instances.rows import (
    InstanceChanges,
    InstanceRow,
    MemberChanges,
    MemberRow,
    ProjectDocument,
    ReasonDocument,
)
from gpuaas_server.instances.timeline import InstanceRef, TimelineEntry, record_events
from gpuaas_server.instances.version_check import NOT_RUNNING
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.failures import FailureDocument
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import with_changes
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import OperationRow
from gpuaas_server.work import leases

# If a controller has reported health and then falls silent for so long, its last report no longer counts.
REPORT_LIFE = timedelta(minutes=10)
DRIFT_WORK, SMOKE_WORK = "instance_drift", "smoke_launch"
_EVENT_OF_STATUS = {"running": "instance.start_completed"}
_EVENT_OF_HEALTH = {"unknown": "instance.health_unknown", "progressing": "instance.progressing"}


@dataclass(slots=True)
class LockedInstance:
    tx: Tx
    row: InstanceRow
    members: dict[str, MemberRow]
    _changes: InstanceChanges = field(default_factory=InstanceChanges)
    _touched: dict[str, None] = field(default_factory=dict)  # ids of members, in the order in which they changed
    _added: list[MemberRow] = field(default_factory=list)
    _events: list[TimelineEntry] = field(default_factory=list)
    _grows: bool = False
    drift_decided: bool = False  # by this transaction: it does not ask for another decision

    @classmethod
    def of(cls, tx: Tx, row: InstanceRow, members: Sequence[MemberRow]) -> "LockedInstance":
        """Make a LockedInstance from rows that this transaction has locked."""
        return cls(tx, row, {member.id: member for member in members})

    @property
    def id(self) -> str:
        return self.row.id

    def add_event(self, name: str, subject: str | None = None, /, **data: object) -> None:
        """Note an event for the timeline, and for the log of the project."""
        self._events.append((name, subject or self.id, data))

    def change(self, **columns: Unpack[InstanceChanges]) -> None:
        """Change columns that say what the instance is or is wanted to be: its generation grows."""
        self.note(**columns)
        self._grows = True

    def note(self, **columns: Unpack[InstanceChanges]) -> None:
        """Change columns that do not make anybody's view of the instance stale."""
        self.row = with_changes(self.row, columns)
        self._changes.update(columns)

    def touch(self) -> None:
        """Note that something changed which is kept beside the row, such as the projects that it serves."""
        self._grows = True

    @property
    def served_project_ids(self) -> list[str]:
        """The further projects that it serves now."""
        return [one["project_id"] for one in self.row.projects if not one["home"]]

    async def load_served_projects(self) -> list[str]:
        """Read the served projects again: a statement that waited for the row lock saw other tables as they were before."""
        rows = await queries.projects_served(self.tx.connection, self.id)
        self.row = replace(self.row, projects=[one.document() for one in rows])
        return self.served_project_ids

    def add_served_project(self, project_id: str, slug: str) -> None:
        added: ProjectDocument = {"project_id": project_id, "slug": slug, "home": False}
        self.row = replace(self.row, projects=[*self.row.projects, added])

    def set_status(self, status: str, failure: FailureDocument | None = None, *, back: bool = False) -> None:
        """Change the status. `back`: the instance returns to where it was, which completes no start.

        On its way it keeps the failure that it had, unseen: when nothing comes of it, that is still what is wrong.
        """
        before = self.row.status
        if status == before:
            if failure is not None:
                self.change(failure=failure)
            return
        if status not in TRANSITIONS[before]:
            raise RuntimeError(f"an instance does not go from {before} to {status}")
        if failure is None and (back or status not in SETTLED):
            failure = self.row.failure
        self.change(status=status, status_since=self.tx.now, failure=failure)
        data = {"failure": failure["code"]} if failure and status in SETTLED else {}
        plain = f"instance.{status}"
        self.add_event(plain if back else _EVENT_OF_STATUS.get(status, plain), **data)

    def set_member_status(self, member: MemberRow, status: str, failure: FailureDocument | None = None) -> None:
        member = self.members[member.id]
        if status == member.status:
            if failure is not None:
                self.change_member(member, failure=failure)
            return
        kind = f"member.{status}"
        columns: MemberChanges = {"status": status, "status_since": self.tx.now, "failure": failure}
        if status == "ready" and member.ready_at is None:
            kind, columns["ready_at"] = "member.added", self.tx.now
        if status == "removed":
            columns["removed_at"], columns["leaving"] = self.tx.now, False
        self.change_member(member, **columns)
        data = {"failure": failure["code"]} if failure else {}
        self.add_event(kind, member.id, component_key=member.component_key, **data)

    def change_member(self, member: MemberRow, **columns: Unpack[MemberChanges]) -> None:
        """Change columns of the member as it is now, which may be a later row than the one given."""
        self.note_member(member, **columns)
        self._touched[member.id] = None
        self._grows = True

    def note_member(self, member: MemberRow, **columns: Unpack[MemberChanges]) -> None:
        """Change columns that are stored when the member is stored for another reason.

        They are not worth a write of their own for each of a thousand members.
        """
        self.members[member.id] = with_changes(self.members[member.id], columns)

    def add_member(self, component_key: str, place: AllocationFacts, operation_id: str | None) -> MemberRow:
        """Add a new member, pending until its operation is claimed."""
        instance = self.row
        member = MemberRow(
            id=new_id("mem"),
            tenant_id=instance.tenant_id,
            project_id=instance.project_id,
            instance_id=instance.id,
            ordinal=instance.next_ordinal,
            component_key=component_key,
            allocation_id=place.id,
            place_project_id=None if place.project_id == instance.project_id else place.project_id,
            node_id=place.node_id,
            shape=place.shape,
            status="pending",
            status_since=self.tx.now,
            operation_id=operation_id,
            last_operation_id=operation_id,
            correlation_id=self.tx.actor.correlation_id,
            created_at=self.tx.now,
        )
        self._added.append(member)
        self.members[member.id] = member
        intent = [*instance.placement_intent, member.placement()]
        self.change(next_ordinal=instance.next_ordinal + 1, placement_intent=intent)
        self.add_event("member.pending", member.id, component_key=component_key)
        return member

    def living_members(self) -> list[MemberRow]:
        return [member for member in self.members.values() if member.status != "removed"]

    def drop_from_intent(self, members: Iterable[MemberRow]) -> None:
        """Note that the members are to go: the intent no longer names them."""
        intent = list(self.row.placement_intent)
        for member in members:
            if member.placement() in intent:
                intent.remove(member.placement())
        self.change(placement_intent=intent)

    def return_to_intent(self, member: MemberRow) -> None:
        """Note that the member, which was to go, stays after all."""
        self.change(placement_intent=[*self.row.placement_intent, member.placement()])

    def live_operation(self, member: MemberRow | None = None) -> str | None:
        """Find the operation that would be in the way of one on this member, or on the whole instance."""
        if self.row.operation_id is not None:
            return self.row.operation_id
        if member is not None:
            return self.members[member.id].operation_id
        return next((one.operation_id for one in self.living_members() if one.operation_id is not None), None)

    async def store(self) -> InstanceRow:
        """Derive health, write what changed, and record the events; return the row as it is now."""
        self._judge()
        self._ask_about_drift()
        elsewhere = list(
            self._events_elsewhere()
        )  # before the new row is stored: a project that is no longer served must get the events too
        connection = self.tx.connection
        if self._added:
            await member_queries.members_insert(connection, self._added)
        if self._touched:
            await member_queries.members_update(connection, [self.members[one] for one in self._touched])
        if self._changes or self._grows:
            changes = self._changes or InstanceChanges(member_counts=self.row.member_counts)
            self.row = await queries.instance_change(connection, self.id, changes, self._grows)
        row = self.row
        about = InstanceRef(row.id, row.tenant_id, row.project_id, row.app_slug)
        await record_events(self.tx, about, self._events)
        await emit(self.tx, *elsewhere)
        self._changes, self._touched, self._added, self._events, self._grows = {}, {}, [], [], False
        return row

    def _events_elsewhere(self) -> Iterator[NewEvent]:
        """Yield events for the logs of other projects: of an instance that serves them, and of members on their allocations."""
        for kind, subject, data in self._events:
            member = self.members.get(subject)
            place = member.place_project_id if member is not None else None
            for project_id in self.served_project_ids if subject == self.id else [place] if place is not None else ():
                facts = {"instance_id": self.id, "app": self.row.app_slug, **data}
                yield NewEvent(kind, subject, self.row.tenant_id, project_id, facts)

    def _judge(self) -> None:
        busy = self.row.operation_id is not None
        members = [_view(member, busy) for member in self.living_members()]
        counts = count_members(members)
        if counts != self.row.member_counts:
            self.note(member_counts=counts)
        shape = bound_shape([member.shape for member in self.living_members()])
        if shape != self.row.bound_capacity_shape:
            self.note(bound_capacity_shape=shape)
        health = derive_health(self._view(members))
        reasons = list(health.reasons)
        if health.status != self.row.health:
            self.note(health=health.status, health_since=self.tx.now, health_reasons=reasons)
            kind = _EVENT_OF_HEALTH.get(health.status, f"instance.{health.status}")
            self.add_event(kind, reasons=[reason["code"] for reason in reasons])
        elif reasons != self.row.health_reasons:
            self.note(health_reasons=reasons)

    def note_drift(self, drift: Drift) -> None:
        self.note(drift=drift.document())

    def drift_view(self, obstacle: ObstacleDocument | None = None) -> DriftView:
        """Return what a decision about drift depends on."""
        drift = Drift.of(self.row.drift)
        known = {one["member_id"] for one in drift.members}
        found = drifted_members(self.row.status, self.living_members(), known)
        return DriftView(self.row.reconcile_policy, drift, found, self.live_operation(), obstacle)

    def _ask_about_drift(self) -> None:
        """Have a worker decide when drift has come, gone or changed. The row names the newest revision; older ones end."""
        view = self.drift_view()
        if self.drift_decided or not needs_decision(view):
            return
        revision = view.drift.revision + 1
        self.note_drift(replace(view.drift, revision=revision))
        leases.enqueue_new(self.tx, DRIFT_WORK, [f"{self.id} {revision}"], flow=self.row.tenant_id)

    def _view(self, members: list[MemberView]) -> InstanceView:
        row = self.row
        return InstanceView(
            status=row.status,
            busy=row.operation_id is not None,
            failure=None if row.failure is None else row.failure["code"],
            minimum={one["key"]: one["min"] for one in row.manifest["components"]},
            members=members,
            report=self._report(),
            flags=[
                *(flag for flag in row.flags if flag["code"] not in NOT_RUNNING),
                *_unfinished(row),
                *_secrets_stale(row),
                *_secrets_exposed(row),
                *_runtime_mismatch(row),
            ],
        )

    def _report(self) -> Report | None:
        told, at = self.row.reported, self.row.reported_at
        if at is None:
            return None
        if at + REPORT_LIFE <= self.tx.now:
            return Report("unknown", stale=True)
        return None if told is None else Report(told["status"], told.get("reasons", ()))

    def drop_report(self, about: Container[str] | None) -> None:
        """Drop what was reported of these members, or of everything, before the operation on them ended."""
        told = self.row.reported
        if told is None:
            return
        left = [] if about is None else [one for one in told["reasons"] if one.get("member_id") not in about]
        if about is None or len(left) < len(told["reasons"]):
            self.note(reported={"status": told["status"], "reasons": left} if left else None)


def _unfinished(row: InstanceRow) -> list[ReasonDocument]:
    """Flag an upgrade or rollback that broke off: members may be of different versions."""
    if row.attempted is None or row.operation_id is not None:
        return []
    message = f"The change to version {row.attempted['version']} did not succeed."
    return [{"code": "version_change_failed", "message": message}]


def _secrets_stale(row: InstanceRow) -> list[ReasonDocument]:
    if not row.secrets_stale or row.operation_id is not None:
        return []
    message = (
        "A member or project that has left still knows the shared secrets. Reconcile the instance to replace them."
    )
    return [{"code": "secrets_not_rotated", "message": message}]


def _secrets_exposed(row: InstanceRow) -> list[ReasonDocument]:
    """Flag given values that a member or project that has left still knows: only people can set others."""
    if not row.secrets_exposed:
        return []
    named = ", ".join(row.secrets_exposed)
    message = (
        f"A member or project that has left knows the given secrets {named}. Set new values; the members then get them."
    )
    return [{"code": "secrets_exposed", "message": message}]


def _runtime_mismatch(row: InstanceRow) -> list[ReasonDocument]:
    """Flag an app that says it is of another version than its manifest: somebody changed it on the host, or an upgrade has
    not restarted it.
    """
    told, declared = row.reported_runtime_version, row.runtime_version
    at_rest = row.status == "running" and row.operation_id is None
    if not at_rest or told is None or declared is None or told == declared:
        return []
    message = f"The running app is {told}, and version {row.version} declares {declared}. Reconcile it, or upgrade it."
    return [{"code": "runtime_version_mismatch", "message": message}]


def _view(member: MemberRow, busy: bool) -> MemberView:
    reason = None if member.failure is None else member.failure["message"]
    own = member.operation_id is not None
    return MemberView(member.id, member.component_key, member.status, reason, problem_of(member, busy), own)


async def lock_instance(tx: Tx, project_id: str, instance_id: str) -> LockedInstance:
    """Lock an instance of the caller's project."""
    row = await queries.instance_lock(tx.connection, project_id, instance_id)
    if row is None:
        raise not_found("instance", instance_id)
    return LockedInstance.of(tx, row, await member_queries.members_living(tx.connection, instance_id))


async def lock_any_instance(tx: Tx, instance_id: str) -> LockedInstance | None:
    """Lock an instance for the platform itself, whoever's it is."""
    row, members = await lock_instance_rows(tx.connection, instance_id)
    return None if row is None else LockedInstance.of(tx, row, members)


async def lock_instance_rows(connection: Connection, instance_id: str) -> tuple[InstanceRow | None, list[MemberRow]]:
    """Lock for a worker that loads first and changes later, in the same transaction."""
    row = await queries.instance_lock_any(connection, instance_id)
    return row, [] if row is None else await member_queries.members_living(connection, instance_id)


async def lock_operation(
    tx: Tx, project_id: str, operation_id: str, bound_apps: Container[str] | None = None
) -> tuple[LockedInstance, OperationRow]:
    """Lock an operation with its instance: the instance first, then the operation, always in this order.

    `bound_apps` are given for a controller, which locks nothing of other apps.
    """
    found = await operations.find_operation(tx.connection, project_id, operation_id)
    if bound_apps is not None:
        operations.require_bound(found, bound_apps)
    locked = await lock_instance(tx, project_id, found.instance_id)
    operation = await operations.operation_lock(tx.connection, operation_id)
    if operation is None:
        raise not_found("operation", operation_id)
    return locked, operation
