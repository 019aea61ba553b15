"""How an operation ends, and what its instance and members are then. The caller holds the instance, and stores it."""

from collections import Counter
from collections.abc import Sequence

from psycopg.rows import DictRow

from gpuaas_server.instances.held import Held
from gpuaas_server.instances.machine import member_broken, member_done, status_broken, status_done
from gpuaas_server.instances.version_gate import flags_of, refuse_version, version_brought
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations import certificates, departures, queries, secret_rotation
from gpuaas_server.operations.machine import LIVE, TEARDOWNS, Failure, decide_bulk, failure
from gpuaas_server.operations.starting import controller_topic

_CLEARED: dict[str, object] = {"phase": None, "lease_digest": None, "lease_until": None, "held": False}


def _unbegun(operation: DictRow) -> bool:
    return (operation["status"], operation["attempt"]) == ("pending", 0)


def concerned(held: Held, operation: DictRow) -> list[DictRow]:
    """The members that the operation works on."""
    if operation["target"] == "instance":
        return held.living()
    named = (operation["member_id"], operation["new_member_id"])
    return [member for member in held.living() if member["id"] in named]


def torn_down(held: Held, operation: DictRow) -> list[DictRow]:
    """Those of whom nothing may be left."""
    return [member for member in concerned(held, operation) if member["id"] != operation["new_member_id"]]


async def finish(
    held: Held,
    operation: DictRow,
    status: str,
    reason: Failure | None = None,
    *,
    verified: bool | None = None,
    forced: dict[str, object] | None = None,
    follow: bool = True,
) -> DictRow:
    """To an end, with everything that follows from it. `forced`: a teardown counts as done, on somebody's word."""
    told = None if reason is None else reason.document()
    changes = {"status": status, "status_since": held.tx.now, "finished_at": held.tx.now, "failure": told}
    if forced is not None:
        changes["forced"] = forced
    ended = await queries.operation_change(held.tx.connection, operation["id"], {**changes, **_CLEARED})
    data = {"failure": reason.code} if reason else {}
    held.news(f"operation.{status}", ended["id"], kind=ended["kind"], member_id=ended["member_id"], **data)
    leaving = departures.leaving_members(held)
    if status == "succeeded" or (forced is not None and operation["kind"] in TEARDOWNS):
        succeeded(held, operation, verified)
    else:
        _broken(held, operation, status, told)
    if operation["kind"] in ("upgrade", "rollback"):  # it has other versions now: what is said of them is derived anew
        held.change(flags=await flags_of(held.tx.connection, held.row))
    if operation["attempt"] > 0:
        await certificates.end(held.tx, operation["id"])
    if follow and operation["parent_id"] is not None:
        await bulk_follow(held, operation["parent_id"])
    await departures.wake_allocations(held, operation, leaving)
    if follow:
        await departures.go_on(held)
    if follow and (status == "succeeded" or not secret_rotation.is_rotation(operation)):
        await secret_rotation.go_on(held)
    return ended


def succeeded(held: Held, operation: DictRow, verified: bool | None) -> None:
    kind = operation["kind"]
    left = any(not member["host_gone"] for member in torn_down(held, operation))  # of a lost host it was noted then
    for member in concerned(held, operation):
        newcomer = member["id"] == operation["new_member_id"]
        if kind in TEARDOWNS and not newcomer and not member["host_gone"]:
            held.member_change(member, verified=verified)
        held.member_become(member, member_done("add" if newcomer else kind, member["status"], member["host_gone"]))
        _let_go(held, member, operation)
    if operation["target"] == "instance":
        _instance_succeeded(held, kind)
    elif kind in ("remove", "replace") and left:
        secret_rotation.note_departure(held)


def _instance_succeeded(held: Held, kind: str) -> None:
    held.change(operation_id=None, failure=None)
    if kind in ("upgrade", "rollback"):
        _change_version(held)
    if held.row["deployed_at"] is None and status_done(kind) == "running":
        held.change(deployed_at=held.tx.now)
    held.become(status_done(kind))
    if kind == "decommission":
        held.change(decommissioned_at=held.tx.now, placement_intent=[])
        held.news("instance.decommissioned")


def _change_version(held: Held) -> None:
    wanted = held.row["attempted"]
    held.change(attempted=None)
    if wanted is None or wanted["version_id"] == held.row["version_id"]:
        return  # the version that was there before a failed upgrade is there again
    before = {name: held.row[name] for name in wanted}
    held.change(previous=before, **wanted)
    held.news("instance.version_changed", before=before["version"], after=wanted["version"])


def _broken(held: Held, operation: DictRow, ended: str, told: dict[str, object] | None) -> None:
    kind, begun = operation["kind"], operation["attempt"] > 0
    for member in concerned(held, operation):
        newcomer = kind == "add" or member["id"] == operation["new_member_id"]
        if begun:
            after = member_broken(kind, member["status"])
            if after != member["status"]:
                held.member_become(member, after, told)
        elif newcomer:  # nothing was ever done for it, so there is nothing to clean
            held.unwanted([member])
            held.member_become(member, "removed")
        elif kind in ("remove", "replace"):
            held.wanted(member)
        _let_go(held, member, operation)
    if operation["target"] == "instance":
        held.change(operation_id=None)
        if kind in ("upgrade", "rollback") and not begun:
            held.change(attempted=None)
        after = status_broken(kind, operation["status_before"], begun)
        secret_rotation.note_failure(held, operation)
        untouched = ended == "cancelled" and not begun and after == operation["status_before"]
        held.become(after, None if untouched else told, back=True)


def _let_go(held: Held, member: DictRow, operation: DictRow) -> None:
    if member["operation_id"] == operation["id"]:
        held.member_change(member, operation_id=None, last_operation_id=operation["id"])
    elif operation["target"] == "instance":
        held.member_note(member, last_operation_id=operation["id"])


async def set_rotation_aside(held: Held) -> None:
    """What somebody asks for goes before a rotation of secrets that nobody has begun; it is due again afterwards.

    One that is under way is in the way for a moment, and the refusal says what it is.
    """
    if held.row["operation_id"] is None:
        return
    for operation in await queries.live_lock(held.tx.connection, held.id):
        if secret_rotation.is_rotation(operation):
            if not _unbegun(operation):
                raise secret_rotation.problem_while_rotating(operation)
            why = failure(
                "cancelled", "Something else was asked for before it began. It is asked for again after that."
            )
            await finish(held, operation, "cancelled", why, follow=False)


async def call_off(held: Held, leaving: list[DictRow]) -> None:
    """What nobody has begun, and was to bring something to a host that goes, or can follow that, need not be waited for."""
    gone = {member["id"] for member in leaving}
    bringing = [
        operation
        for operation in await queries.live_lock(held.tx.connection, held.id)
        if (operation["kind"] in ("deploy", "add") or secret_rotation.is_rotation(operation)) and _unbegun(operation)
        if any(member["id"] in gone for member in concerned(held, operation))
    ]
    await _finish_all(held, bringing, "cancelled", failure("cancelled", "An allocation below it is being released."))


async def fail_without_hosts(held: Held, why: Failure) -> None:
    """Operations all of whose members have lost their hosts: nobody can carry them out any more."""
    hopeless = [
        operation
        for operation in await queries.live_lock(held.tx.connection, held.id)
        if (touched := concerned(held, operation)) and all(member["host_gone"] for member in touched)
    ]
    await _finish_all(held, hopeless, "failed", why)


async def refuse_unclaimed(held: Held) -> None:
    """End what nobody has begun and would bring bytes to a host that may not be brought there any more."""
    refused: list[DictRow] = []
    why: Failure | None = None
    for operation in await queries.live_lock(held.tx.connection, held.id):
        version = version_brought(held.row, operation["kind"])
        if version is None or secret_rotation.is_rotation(operation) or not _unbegun(operation):
            continue
        try:
            await refuse_version(held.tx.connection, held.row, version)
        except Problem as problem:
            why = failure(problem.code, problem.detail)
            refused.append(operation)
    if why is not None:
        await _finish_all(held, refused, "failed", why)


async def _finish_all(held: Held, operations: Sequence[DictRow], status: str, why: Failure) -> None:
    """All of them first, then what follows: a bulk operation that one ends must not end the next one, too."""
    for operation in operations:
        await finish(held, operation, status, why, follow=False)
    for parent_id in sorted({operation["parent_id"] for operation in operations} - {None}):
        await bulk_follow(held, parent_id)
    if operations:
        await departures.go_on(held)
        await secret_rotation.go_on(held)


async def bulk_follow(held: Held, parent_id: str) -> None:
    """A child has changed: count, offer the next, or end."""
    connection = held.tx.connection
    parent = await queries.operation_lock(connection, parent_id)
    if parent is None or parent["status"] not in LIVE:
        return
    children = await queries.children_of(connection, parent_id)
    views = [(child["id"], child["status"], child["held"]) for child in children]
    step = decide_bulk(parent["status"], parent["on_failure"], views)
    if step.cancel:
        why = failure("cancelled", "One before it did not succeed.")
        for child in await queries.operations_lock(connection, step.cancel):
            await finish(held, child, "cancelled", why, follow=False)
        await bulk_follow(held, parent_id)
        return
    if step.offer is not None:
        await queries.operation_change(connection, step.offer, {"held": False})
        held.tx.wakeups.add(controller_topic(held.row["project_id"]))
    counts = dict(sorted(Counter(child["status"] for child in children).items()))
    changes: dict[str, object] = {"children": counts}
    if step.status != parent["status"]:
        changes |= {"status": step.status, "status_since": held.tx.now}
        held.news(f"operation.{step.status}", parent_id, kind=parent["kind"], children=counts)
    if step.status not in LIVE:
        told = None if step.failure is None else step.failure.document()
        changes |= {"finished_at": held.tx.now, "failure": told}
    await queries.operation_change(connection, parent_id, changes)
