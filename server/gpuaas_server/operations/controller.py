"""What a controller may do with operations: find work, claim it, report, and end it. Nothing else, nothing hidden.

A lease proves who works on an operation. Whoever comes with another token, or as another service account, changes nothing.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import held as instances
from gpuaas_server.instances.held import Held
from gpuaas_server.instances.machine import MEMBER_BEGUN, status_begun
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import Connection, Scope
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.wakeups import Look
from gpuaas_server.operations import certificates, queries, steps, teardown
from gpuaas_server.operations.context import claimed_operation, operation_of
from gpuaas_server.operations.documents import DETAIL_BYTES, RUNTIME_BYTES, require_size
from gpuaas_server.operations.ending import bulk_follow, concerned, finish, torn_down
from gpuaas_server.operations.holding import hold, require_bound
from gpuaas_server.operations.machine import LEASED, TEARDOWNS, VERIFYING, Failure, Limits
from gpuaas_server.operations.reach import allocations_opened
from gpuaas_server.operations.schemas import (
    ClaimedOperation,
    LeaseRenewed,
    MemberReport,
    Operation,
    OperationClaim,
    OperationComplete,
    OperationFail,
    OperationReport,
    StepReport,
    WorkItem,
    WorkList,
)
from gpuaas_server.operations.starting import WORK, controller_topic
from gpuaas_server.work import leases

MOST_WORK = 50


async def controller_work(platform: Platform, scope: Scope, caller: Caller, project_id: str, wait: float) -> WorkList:
    """What waits for a controller of these apps; when nothing does, wait up to `wait` seconds for the first."""
    apps = identity.bound_apps(caller)

    async def look() -> Look[list[DictRow]]:
        async with platform.database.connection(scope) as connection:
            rows = await queries.work_list(connection, project_id, apps, MOST_WORK)
        return Look(rows, bool(rows))

    rows = await platform.wakeups.first(controller_topic(project_id), look, wait)
    return WorkList(items=[WorkItem(**row) for row in rows])


async def operation_claim(
    tx: Tx, limits: Limits, caller: Caller, project_id: str, operation_id: str, body: OperationClaim
) -> ClaimedOperation:
    until = tx.now + limits.lease
    await leases.enqueue(tx, WORK, [operation_id], run_at=until)
    held, operation = await hold(tx, project_id, operation_id, identity.bound_apps(caller))
    _require_claimable(tx, operation, body.replica)
    token = f"lease_{secrets.token_urlsafe(32)}"
    changes: dict[str, object] = {
        "status": "claimed",
        "status_since": tx.now,
        "claimed_at": tx.now,
        "attempt": operation["attempt"] + 1,
        "controller_id": tx.actor.id,
        "replica": body.replica,
        "lease_digest": _digest(token),
        "lease_until": until,
    }
    claimed = await queries.operation_change(tx.connection, operation_id, changes)
    if operation["attempt"] == 0:
        _begin(held, operation)
    else:
        await certificates.end(tx, operation_id)  # whoever held it before is out of the hosts
    held.news("operation.claimed", operation_id, kind=claimed["kind"], attempt=claimed["attempt"], replica=body.replica)
    if claimed["parent_id"] is not None:
        await bulk_follow(held, claimed["parent_id"])
    await held.store()
    await _recorded(tx, "operation_claim", claimed, {"replica": body.replica, "attempt": claimed["attempt"]})
    return await claimed_operation(tx.connection, caller, held, claimed, token)


def _require_claimable(tx: Tx, operation: DictRow, replica: str) -> None:
    """Free; or of this very replica, which came back under its name; or of one whose lease has lapsed."""
    free = operation["status"] == "pending" and not operation["held"] and operation["target"] != "bulk"
    leased = operation["status"] in LEASED and operation["lease_until"] is not None
    own = leased and operation["controller_id"] == tx.actor.id and operation["replica"] == replica
    lapsed = leased and operation["lease_until"] <= tx.now
    if not (free or own or lapsed) or operation["deadline_at"] <= tx.now:
        details = {"status": operation["status"], "replica": operation["replica"]}
        raise Problem("operation_claimed", f"It is {operation['status']}.", details)


def _begin(held: Held, operation: DictRow) -> None:
    """The first claim is when the instance and its members begin to change."""
    kind = operation["kind"]
    held.become(status_begun(kind, held.row["status"]))
    for member in concerned(held, operation):
        newcomer = member["id"] == operation["new_member_id"]
        status = "joining" if newcomer else MEMBER_BEGUN.get(kind)
        if status is not None and not (operation["target"] == "instance" and member["host_gone"]):
            held.member_become(member, status)


async def operation_report(
    tx: Tx, limits: Limits, caller: Caller, project_id: str, operation_id: str, body: OperationReport
) -> LeaseRenewed:
    """Steps and progress; each report renews the lease. Only the first waits for others, since it tells the instance."""
    known = await queries.operation_show(tx.connection, project_id, operation_id)
    if known is not None and known["status"] == "claimed":
        await instances.hold(tx, project_id, known["instance_id"])
    row = await queries.report_lock(tx.connection, project_id, operation_id)
    if row is not None:
        require_bound(row, identity.bound_apps(caller))
    operation = _require_lease(tx.actor, tx.now, row, operation_id, body.lease_token)
    until = tx.now + limits.lease
    changes: dict[str, object] = {"lease_until": until}
    if body.steps:
        # Where it is wanted cancelled, no step begins: the answer says so, and whoever asked to begin one turns back.
        stays = operation["cancel_requested_at"] is not None
        told = [one for one in body.steps if not stays or one.status != "running"]
        changes["steps"] = steps.merged(operation["steps"], told, tx.now)
    if body.progress is not None:
        changes["progress"] = body.progress.model_dump()
    if operation["status"] == "claimed":
        changes |= {"status": "running", "status_since": tx.now}
        await instances.tell(tx, operation, [("operation.running", operation_id, {"kind": operation["kind"]})])
    news = len(changes) > 1  # a renewed lease alone is nobody's news
    changed = await queries.operation_change(tx.connection, operation_id, changes, grow=news)
    if news:
        tx.wakeups.add(instances.topic(operation["instance_id"]))
    tx.audited = True  # what is reported is in the operation itself; the claim and the end are in the trail
    return LeaseRenewed(
        operation_id=operation_id,
        status=changed["status"],
        lease_until=until,
        cancel_requested=changed["cancel_requested_at"] is not None,
    )


async def operation_complete(
    tx: Tx, limits: Limits, caller: Caller, project_id: str, operation_id: str, body: OperationComplete
) -> Operation:
    """Done, says the controller. After a teardown the hosts are asked too, before it counts."""
    require_size("runtime", body.runtime, RUNTIME_BYTES)
    require_size("access_bundle", body.access_bundle, RUNTIME_BYTES)
    deadline = tx.now + limits.verify
    await leases.enqueue(tx, WORK, [operation_id], run_at=deadline)
    held, operation = await hold(tx, project_id, operation_id, identity.bound_apps(caller))
    _require_lease(tx.actor, tx.now, operation, operation_id, body.lease_token)
    _take_members(held, operation, body.members)
    for name, value in (("runtime", body.runtime), ("access_bundle", body.access_bundle)):
        if value is not None:
            held.change(**{name: value})
    if body.mode is not None:
        held.change(mode=body.mode.model_dump())
    await _take_steps(tx, operation, body.steps)
    waits = operation["kind"] in TEARDOWNS
    if waits and await teardown.proof_start(held, operation, torn_down(held, operation)):
        changes: dict[str, object] = {"status": "running", "phase": VERIFYING, "deadline_at": deadline}
        changes |= {"lease_digest": None, "lease_until": None}
        ended = await queries.operation_change(tx.connection, operation_id, changes)
        await certificates.end(tx, operation_id)  # the controller is done: what is looked at stays as it is
        held.news("operation.verifying", operation_id, kind=operation["kind"])
    else:
        ended = await finish(held, operation, "succeeded")
    await held.store()
    await _recorded(tx, "operation_complete", ended, {})
    return operation_of(ended, caller)


async def operation_fail(tx: Tx, caller: Caller, project_id: str, operation_id: str, body: OperationFail) -> Operation:
    """It did not work, says the controller. Where somebody wanted it cancelled, that is what it is."""
    held, operation = await hold(tx, project_id, operation_id, identity.bound_apps(caller))
    _require_lease(tx.actor, tx.now, operation, operation_id, body.lease_token)
    told = body.failure
    next_step = told.next_step or "Read the steps; correct what they name, and ask for it again."
    reason = Failure(told.code, told.message, next_step, told.retryable)
    _take_members(held, operation, body.members, reason.document())
    await _take_steps(tx, operation, body.steps)
    status = "cancelled" if operation["cancel_requested_at"] is not None else "failed"
    ended = await finish(held, operation, status, reason)
    await held.store()
    await _recorded(tx, "operation_fail", ended, {"code": told.code})
    return operation_of(ended, caller)


async def operation_give_back(
    tx: Tx, caller: Caller, project_id: str, operation_id: str, lease_token: str
) -> Operation:
    """A replica that ends in good order does not make the next one wait for its lease to lapse."""
    held, operation = await hold(tx, project_id, operation_id, identity.bound_apps(caller))
    _require_lease(tx.actor, tx.now, operation, operation_id, lease_token)
    changed = await release_lease(held, operation)
    await held.store()
    await _recorded(tx, "operation_give_back", changed, {})
    return operation_of(changed, caller)


async def release_lease(held: Held, operation: DictRow) -> DictRow:
    """Back among the work, for another replica to resume."""
    changes: dict[str, object] = {"status": "pending", "status_since": held.tx.now}
    changes |= {"lease_digest": None, "lease_until": None, "replica": None}
    changed = await queries.operation_change(held.tx.connection, operation["id"], changes)
    await certificates.end(held.tx, operation["id"])  # whoever held it is out of the hosts, also if nobody resumes it
    held.news("operation.pending", operation["id"], kind=operation["kind"], attempt=operation["attempt"])
    held.tx.wakeups.add(controller_topic(operation["project_id"]))
    if operation["parent_id"] is not None:
        await bulk_follow(held, operation["parent_id"])
    return changed


async def _take_steps(tx: Tx, operation: DictRow, reports: Sequence[StepReport]) -> None:
    """The last of them, told together with the end."""
    if reports:
        kept = steps.merged(operation["steps"], reports, tx.now)
        await queries.operation_change(tx.connection, operation["id"], {"steps": kept})


def _take_members(
    held: Held, operation: DictRow, reports: Sequence[MemberReport], failure: dict[str, object] | None = None
) -> None:
    """What the controller says of the members that it worked on; of others it has nothing to say."""
    mine = {member["id"]: member for member in concerned(held, operation)}
    for report in reports:
        member = mine.get(report.member_id)
        if member is None:
            raise not_found("member of this operation", report.member_id)
        require_size("adapter_detail", report.adapter_detail, DETAIL_BYTES)
        if report.adapter_detail is not None:
            held.member_change(member, adapter_detail=report.adapter_detail)
        if report.status is not None:
            bad = report.status in ("failed", "degraded")
            held.member_become(member, report.status, _why(report, failure) if bad else None)


def _why(report: MemberReport, failure: dict[str, object] | None) -> dict[str, object]:
    if report.message is None and failure is not None:
        return failure
    message = report.message or f"The controller says that it is {report.status}."
    step = "Recover the member, replace it, or remove it."
    return Failure(f"member_{report.status}", message, step, True).document()


def _require_lease(actor: Actor, now: datetime, operation: DictRow | None, operation_id: str, token: str) -> DictRow:
    if operation is None:
        raise not_found("operation", operation_id)
    if operation["controller_id"] != actor.id:
        raise Problem("not_the_controller", "Another service account claimed it, or nobody has.")
    current = operation["status"] in LEASED and operation["lease_digest"] is not None
    if not current or not secrets.compare_digest(operation["lease_digest"], _digest(token)):
        raise Problem("lease_lost", f"It is {operation['status']}.", {"status": operation["status"]})
    if operation["lease_until"] <= now or operation["deadline_at"] <= now:
        raise Problem("lease_lost", "The lease has lapsed, or the deadline has passed.")
    return operation


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


async def _recorded(tx: Tx, action: str, operation: DictRow, details: dict[str, object]) -> None:
    place = (operation["id"], operation["tenant_id"], operation["project_id"])
    facts = {"kind": operation["kind"], "instance": operation["instance_id"], **details}
    await record(tx, AuditEntry(action, *place, details=facts))


@dataclass(frozen=True, slots=True)
class LeasedOperation:
    """What a lease opens: for the rooms that give a controller something for as long as it works."""

    operation_id: str
    instance_id: str
    tenant_id: str
    project_id: str
    app_slug: str
    kind: str
    allocation_ids: tuple[str, ...]
    owners: Mapping[str, str]  # whose each of them is: the instance's own project, or one that it serves
    digest: str | None
    publisher_project_id: str
    deadline_at: datetime
    lease_until: datetime


async def lease_of(
    connection: Connection,
    caller: Caller,
    project_id: str,
    operation_id: str,
    lease_token: str,
    actor: Actor,
    now: datetime,
) -> LeasedOperation:
    """The operation that this caller holds the lease of, or the problem that says why not."""
    row = await queries.operation_show(connection, project_id, operation_id)
    if row is not None:
        require_bound(row, identity.bound_apps(caller))
    operation = _require_lease(actor, now, row, operation_id, lease_token)
    instance, members = await instances.look(connection, project_id, operation["instance_id"])
    named = (operation["member_id"], operation["new_member_id"])
    mine = [m for m in members if operation["target"] == "instance" or m["id"] in named]
    version = instance["attempted"] if operation["kind"] in ("upgrade", "rollback") else None
    return LeasedOperation(
        operation_id,
        operation["instance_id"],
        operation["tenant_id"],
        project_id,
        operation["app_slug"],
        operation["kind"],
        allocations_opened((version or instance)["manifest"]["components"], members, mine),
        {member["allocation_id"]: member["place_project_id"] or project_id for member in members},
        (version or instance)["digest"],
        (version or instance)["publisher_project_id"],
        operation["deadline_at"],
        operation["lease_until"],
    )
