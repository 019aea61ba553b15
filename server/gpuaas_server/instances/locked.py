"""An instance with its members, locked by one transaction: changed in memory by the rules of machine.py, stored at once.

A transaction that changes anything of an instance, of a member, or of an operation on them, locks the instance first. So
nobody sees half a change, and health is derived in one place from all that it depends on.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from psycopg.rows import DictRow

from gpuaas_server.allocations.service import AllocationFacts
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.instances import queries
from gpuaas_server.instances.host_problems import host_problem_of
from gpuaas_server.instances.machine import SETTLED, TRANSITIONS, InstanceView, MemberView, Report, counted, judge
from gpuaas_server.instances.timeline import TimelineEntry, record_events
from gpuaas_server.instances.version_gate import NOT_RUNNING
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.failures import FailureDocument
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations import service as operations

# A controller that has once reported health and then falls silent for so long is not believed any more.
REPORT_LIFE = timedelta(minutes=10)
_EVENT_OF_STATUS = {"running": "instance.start_completed"}
_EVENT_OF_HEALTH = {"unknown": "instance.health_unknown", "progressing": "instance.progressing"}


@dataclass(slots=True)
class LockedInstance:
    tx: Tx
    row: DictRow
    members: dict[str, DictRow]
    _changes: dict[str, object] = field(default_factory=dict)
    _touched: dict[str, DictRow] = field(default_factory=dict)
    _born: list[dict[str, object]] = field(default_factory=list)
    _events: list[TimelineEntry] = field(default_factory=list)
    _grows: bool = False

    @classmethod
    def of(cls, tx: Tx, row: DictRow, members: Sequence[DictRow]) -> "LockedInstance":
        """From rows that this transaction has locked."""
        return cls(tx, row, {member["id"]: member for member in members})

    @property
    def id(self) -> str:
        return str(self.row["id"])

    def add_event(self, name: str, subject: str | None = None, /, **data: object) -> None:
        """For the timeline, and for the log of the project."""
        self._events.append((name, subject or self.id, data))

    def change(self, **columns: object) -> None:
        """Columns of the instance that change what it is or is wanted to be."""
        self.row.update(columns)
        self._changes.update(columns)
        self._grows = True

    def touch(self) -> None:
        """Something changed that is kept beside it, such as whom it serves."""
        self._grows = True

    @property
    def served_project_ids(self) -> list[str]:
        """The further projects that it serves now."""
        return [one["project_id"] for one in self.row["projects"] if not one["home"]]

    async def load_served_projects(self) -> list[str]:
        """For who decides by it: a statement that waited for the row sees other tables as they were before it waited."""
        rows = await queries.projects_served(self.tx.connection, self.id)
        self.row["projects"] = [{name: one[name] for name in ("project_id", "slug", "home")} for one in rows]
        return self.served_project_ids

    def note(self, **columns: object) -> None:
        """Columns that do not make anybody's view of the instance stale."""
        self.row.update(columns)
        self._changes.update(columns)

    def set_status(self, status: str, failure: FailureDocument | None = None, *, back: bool = False) -> None:
        """`back`: to where it was before something that came to nothing; that completes no start.

        On its way it keeps the failure that it had, unseen: when nothing comes of it, that is still what is wrong.
        """
        before = str(self.row["status"])
        if status == before:
            if failure is not None:
                self.change(failure=failure)
            return
        if status not in TRANSITIONS[before]:
            raise RuntimeError(f"an instance does not go from {before} to {status}")
        if failure is None and (back or status not in SETTLED):
            failure = self.row["failure"]
        self.change(status=status, status_since=self.tx.now, failure=failure)
        data = {"failure": failure["code"]} if failure and status in SETTLED else {}
        plain = f"instance.{status}"
        self.add_event(plain if back else _EVENT_OF_STATUS.get(status, plain), **data)

    def set_member_status(self, member: DictRow, status: str, failure: FailureDocument | None = None) -> None:
        if status == member["status"]:
            if failure is not None:
                self.change_member(member, failure=failure)
            return
        kind = f"member.{status}"
        columns: dict[str, object] = {"status": status, "status_since": self.tx.now, "failure": failure}
        if status == "ready" and member["ready_at"] is None:
            kind, columns["ready_at"] = "member.added", self.tx.now
        if status == "removed":
            columns |= {"removed_at": self.tx.now, "leaving": False}
        self.change_member(member, **columns)
        data = {"failure": failure["code"]} if failure else {}
        self.add_event(kind, member["id"], component_key=member["component_key"], **data)

    def change_member(self, member: DictRow, **columns: object) -> None:
        member.update(columns)
        self._touched[member["id"]] = member
        self._grows = True

    def note_member(self, member: DictRow, **columns: object) -> None:
        """Stored when the member is stored for another reason: not worth a write of its own for each of a thousand."""
        member.update(columns)

    def add_member(self, component_key: str, place: AllocationFacts, operation_id: str | None) -> DictRow:
        """A new member, pending until its operation is claimed."""
        allocation_id = place.id
        row: DictRow = {
            "id": new_id("mem"),
            "tenant_id": self.row["tenant_id"],
            "project_id": self.row["project_id"],
            "instance_id": self.id,
            "ordinal": self.row["next_ordinal"],
            "component_key": component_key,
            "allocation_id": allocation_id,
            "place_project_id": None if place.project_id == self.row["project_id"] else place.project_id,
            "node_id": place.node_id,
            "operation_id": operation_id,
            "correlation_id": self.tx.actor.correlation_id,
            "now": self.tx.now,
        }
        self._born.append(dict(row))
        never = (
            "failure",
            "adapter_detail",
            "verified",
            "ready_at",
            "removed_at",
            "host_lost_since",
            "host_reported_at",
        )
        row |= dict.fromkeys(never) | {"status": "pending", "status_since": self.tx.now, "generation": 1}
        row |= {"host_gone": False, "leaving": False, "created_at": row.pop("now"), "last_operation_id": operation_id}
        self.members[row["id"]] = row
        intent = [*self.row["placement_intent"], {"component_key": component_key, "allocation_id": allocation_id}]
        self.change(next_ordinal=self.row["next_ordinal"] + 1, placement_intent=intent)
        self.add_event("member.pending", row["id"], component_key=component_key)
        return row

    def living_members(self) -> list[DictRow]:
        return [member for member in self.members.values() if member["status"] != "removed"]

    def drop_from_intent(self, members: Iterable[DictRow]) -> None:
        """They are to go: the intent no longer names them."""
        intent = list(self.row["placement_intent"])
        for member in members:
            place = {name: member[name] for name in ("component_key", "allocation_id")}
            if place in intent:
                intent.remove(place)
        self.change(placement_intent=intent)

    def return_to_intent(self, member: DictRow) -> None:
        """It was to go, and stays after all."""
        place = {name: member[name] for name in ("component_key", "allocation_id")}
        self.change(placement_intent=[*self.row["placement_intent"], place])

    def live_operation(self, member: DictRow | None = None) -> str | None:
        """Who would be in the way: of one member's operation, or of one on the whole instance."""
        whole = self.row["operation_id"]
        if whole is not None or member is not None:
            return str(whole or (member or {}).get("operation_id") or "") or None
        return next(
            (str(one["operation_id"]) for one in self.living_members() if one["operation_id"] is not None), None
        )

    async def store(self) -> DictRow:
        """Derive health, write what changed, and record the events; return the row as it is now."""
        self._judge()
        elsewhere = list(self._events_elsewhere())  # before the row is as it will be: who is left hears of that, too
        connection = self.tx.connection
        if self._born:
            await queries.members_insert(connection, self._born)
        if self._touched:
            await queries.members_update(connection, list(self._touched.values()))
        if self._changes or self._grows:
            changes = self._changes or {"member_counts": self.row["member_counts"]}
            self.row = await queries.instance_change(connection, self.id, changes, self._grows)
        await record_events(self.tx, self.row, self._events)
        await emit(self.tx, *elsewhere)
        self._changes, self._touched, self._born, self._events, self._grows = {}, {}, [], [], False
        return self.row

    def _events_elsewhere(self) -> Iterator[NewEvent]:
        """What concerns other projects, into their logs too: the whole of what serves them, and members on their own
        allocations.
        """
        for kind, subject, data in self._events:
            member = self.members.get(subject)
            place = member["place_project_id"] if member is not None else None
            for project_id in self.served_project_ids if subject == self.id else [place] if place is not None else ():
                facts = {"instance_id": self.id, "app": self.row["app_slug"], **data}
                yield NewEvent(kind, subject, self.row["tenant_id"], project_id, facts)

    def _judge(self) -> None:
        members = [_view(member) for member in self.living_members()]
        counts = counted(members)
        if counts != self.row["member_counts"]:
            self.note(member_counts=counts)
        health = judge(self._view(members))
        reasons = [dict(reason) for reason in health.reasons]
        if health.status != self.row["health"]:
            self.note(health=health.status, health_since=self.tx.now, health_reasons=reasons)
            kind = _EVENT_OF_HEALTH.get(health.status, f"instance.{health.status}")
            self.add_event(kind, reasons=[reason["code"] for reason in reasons])
        elif reasons != self.row["health_reasons"]:
            self.note(health_reasons=reasons)

    def _view(self, members: list[MemberView]) -> InstanceView:
        row = self.row
        return InstanceView(
            status=row["status"],
            busy=row["operation_id"] is not None,
            failure=(row["failure"] or {}).get("code"),
            minimum={one["key"]: int(one.get("min", 0)) for one in row["manifest"].get("components", ())},
            members=members,
            report=self._report(),
            flags=[
                *(flag for flag in row["flags"] if flag["code"] not in NOT_RUNNING),
                *_unfinished(row),
                *_secrets_stale(row),
            ],
        )

    def _report(self) -> Report | None:
        told, at = self.row["reported"], self.row["reported_at"]
        if told is None or at is None:
            return None
        return Report(told["status"], told.get("reasons", ()), stale=at + REPORT_LIFE <= self.tx.now)


def _unfinished(row: DictRow) -> list[dict[str, object]]:
    """An upgrade or rollback that broke off: members may be of different versions."""
    if row["attempted"] is None or row["operation_id"] is not None:
        return []
    message = f"The change to version {row['attempted']['version']} did not succeed."
    return [{"code": "version_change_failed", "message": message}]


def _secrets_stale(row: DictRow) -> list[dict[str, object]]:
    if not row["secrets_stale"] or row["operation_id"] is not None:
        return []
    message = (
        "Somebody who has left still knows the secrets that the members share. Reconcile it: they are made anew then."
    )
    return [{"code": "secrets_not_rotated", "message": message}]


def _view(member: DictRow) -> MemberView:
    failure = member["failure"] or {}
    host = host_problem_of(member)
    return MemberView(member["id"], member["component_key"], member["status"], failure.get("message"), host)


async def lock_instance(tx: Tx, project_id: str, instance_id: str) -> LockedInstance:
    """Lock an instance of the caller's project."""
    row = await queries.instance_lock(tx.connection, project_id, instance_id)
    if row is None:
        raise not_found("instance", instance_id)
    return LockedInstance.of(tx, row, await queries.members_living(tx.connection, instance_id))


async def lock_any_instance(tx: Tx, instance_id: str) -> LockedInstance | None:
    """Lock an instance for the platform itself, whoever's it is."""
    row, members = await lock_instance_rows(tx.connection, instance_id)
    return None if row is None else LockedInstance.of(tx, row, members)


async def lock_instance_rows(connection: Connection, instance_id: str) -> tuple[DictRow | None, list[DictRow]]:
    """Lock for a worker that loads first and changes later, in the same transaction."""
    row = await queries.instance_lock_any(connection, instance_id)
    return row, [] if row is None else await queries.members_living(connection, instance_id)


async def lock_operation(
    tx: Tx, project_id: str, operation_id: str, bound_apps: Container[str] | None = None
) -> tuple[LockedInstance, DictRow]:
    """Lock an operation with its instance: the instance first, then the operation, always in this order.

    `bound_apps` are given for a controller, which locks nothing of other apps.
    """
    found = await operations.find_operation(tx.connection, project_id, operation_id)
    if bound_apps is not None:
        operations.require_bound(found, bound_apps)
    locked = await lock_instance(tx, project_id, found["instance_id"])
    operation = await operations.operation_lock(tx.connection, operation_id)
    if operation is None:
        raise not_found("operation", operation_id)
    return locked, operation
