"""Ask for operations: write the rows, mark whom they work on, wake the controllers. The caller holds the instance."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from psycopg.rows import DictRow

from gpuaas_server.instances.held import Held
from gpuaas_server.instances.machine import status_asked
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations import queries
from gpuaas_server.work import leases

WORK = "operation"
DEFAULT_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for, by whom and until when."""

    kind: str
    reason: str | None = None
    deadline_seconds: int | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    on_failure: str = "continue"

    def deadline(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.deadline_seconds or DEFAULT_SECONDS)


@dataclass(frozen=True, slots=True)
class Target:
    """One member to work on, and, to replace it, the one that takes its place."""

    operation_id: str
    member: DictRow
    new_member: DictRow | None = None


def controller_topic(project_id: str) -> str:
    return f"controller:{project_id}"


def refuse_while_busy(held: Held, member: DictRow | None = None) -> None:
    """One live operation a member, and one on the whole instance shuts out those on members, and the reverse."""
    live = held.live_operation(member)
    if live is not None:
        raise Problem("operation_in_progress", f"{live} is not finished.", {"operation_id": live})


async def instance_operation_start(held: Held, wish: Wish) -> str:
    """An operation on the whole instance; its id. The caller has asked whether the status allows it, and stores."""
    refuse_while_busy(held)
    before = held.row["status"]
    operation_id = new_id("op")
    row = _row(held, wish, operation_id, "instance") | {"status_before": before}
    held.become(status_asked(wish.kind, before))
    held.change(operation_id=operation_id, last_operation_id=operation_id)
    held.news("operation.pending", operation_id, kind=wish.kind)
    await _write(held.tx, [row])
    return operation_id


async def member_operations_start(held: Held, wish: Wish, targets: list[Target]) -> str:
    """One operation, or one for each target below a bulk operation; the id of the one to follow."""
    parent_id = new_id("op") if len(targets) > 1 else None
    rows = [] if parent_id is None else [_parent(held, wish, parent_id, len(targets))]
    one_by_one = parent_id is not None and wish.on_failure == "stop"
    for number, target in enumerate(targets):
        member = target.member
        own = {"member_id": member["id"], "ordinal": member["ordinal"], "parent_id": parent_id}
        own |= {"new_member_id": target.new_member["id"] if target.new_member else None}
        own |= {"held": one_by_one and number > 0}
        rows.append(_row(held, wish, target.operation_id, "member") | own)
        for concerned in (member, *((target.new_member,) if target.new_member else ())):
            known = {"operation_id": target.operation_id, "correlation_id": held.tx.actor.correlation_id}
            if concerned["operation_id"] != target.operation_id:
                held.member_change(concerned, **known)
        held.news("operation.pending", target.operation_id, kind=wish.kind, member_id=member["id"])
    if parent_id is not None:
        held.news("operation.pending", parent_id, kind=wish.kind, targets=len(targets))
    first = parent_id or targets[0].operation_id
    held.change(last_operation_id=first)
    await _write(held.tx, rows)
    return first


def _row(held: Held, wish: Wish, operation_id: str, target: str) -> dict[str, object]:
    instance, actor, now = held.row, held.tx.actor, held.tx.now
    return {
        "id": operation_id,
        "tenant_id": instance["tenant_id"],
        "project_id": instance["project_id"],
        "instance_id": instance["id"],
        "app_slug": instance["app_slug"],
        "kind": wish.kind,
        "target": target,
        "parameters": wish.parameters,
        "reason": wish.reason,
        "requested_by": actor.id,
        "requested_by_name": actor.name,
        "correlation_id": actor.correlation_id,
        "now": now,
        "deadline_at": wish.deadline(now),
    }


def _parent(held: Held, wish: Wish, operation_id: str, targets: int) -> dict[str, object]:
    children = {"pending": targets}
    return _row(held, wish, operation_id, "bulk") | {"on_failure": wish.on_failure, "children": children}


async def _write(tx: Tx, rows: list[dict[str, object]]) -> None:
    await queries.operations_insert(tx.connection, rows)
    due: dict[object, list[str]] = {}
    for row in rows:
        if row["target"] != "bulk":
            due.setdefault(row["deadline_at"], []).append(str(row["id"]))
    for deadline, ids in due.items():
        await leases.enqueue(tx, WORK, ids, run_at=deadline if isinstance(deadline, datetime) else None)
    tx.wakeups.add(controller_topic(str(rows[0]["project_id"])))
