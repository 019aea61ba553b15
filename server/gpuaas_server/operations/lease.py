"""The lease on an operation proves which controller works on it, and until when.

A caller that shows another token, or is another service account, changes nothing.
"""

import hashlib
import secrets
from collections.abc import Container, Mapping, Sequence
from datetime import datetime

from gpuaas_server.kernel.context import Actor, Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.operations import queries
from gpuaas_server.operations.lifecycle import app_topic, controller_topic
from gpuaas_server.operations.machine import LEASED, Limits
from gpuaas_server.operations.rows import OperationChanges, OperationRow
from gpuaas_server.operations.schemas import LeaseReport, StepReport
from gpuaas_server.operations.steps import merge_steps


@dataclass(frozen=True, slots=True)
class LeasedOperation:
    """Tells what the lease of an operation opens to its controller: these machines, and the artifacts of this version."""

    operation_id: str
    instance_id: str
    tenant_id: str
    project_id: str
    app_slug: str
    kind: str
    allocation_ids: tuple[str, ...]
    owners: Mapping[str, str]  # whose project each allocation is: the instance's own, or one that it serves
    digests: tuple[str, ...]  # of the version's artifacts, its own first; empty: it has none
    publisher_project_id: str
    deadline_at: datetime
    lease_until: datetime


async def claim_lease(tx: Tx, limits: Limits, operation: OperationRow, replica: str) -> tuple[OperationRow, str]:
    """Give the operation to this replica; return the row and the token. The caller must hold the row lock."""
    _require_claimable(tx, operation, replica)
    token = f"lease_{secrets.token_urlsafe(32)}"
    changes: OperationChanges = {
        "status": "claimed",
        "status_since": tx.now,
        "claimed_at": tx.now,
        "attempt": operation.attempt + 1,
        "controller_id": tx.actor.id,
        "replica": replica,
        "lease_digest": _digest(token),
        "lease_until": tx.now + limits.lease,
    }
    return await queries.operation_change(tx.connection, operation.id, changes), token


def _require_claimable(tx: Tx, operation: OperationRow, replica: str) -> None:
    """Refuse unless it is free, its lease has lapsed, or this very replica came back under its name."""
    free = operation.status == "pending" and not operation.deferred and operation.target != "bulk"
    until = operation.lease_until if operation.status in LEASED else None
    own = until is not None and operation.controller_id == tx.actor.id and operation.replica == replica
    lapsed = until is not None and until <= tx.now
    if not (free or own or lapsed) or operation.deadline_at <= tx.now:
        details: dict[str, object] = {"status": operation.status, "replica": operation.replica}
        raise Problem("operation_claimed", f"The operation is {operation.status}.", details)


async def renew_lease(
    tx: Tx, limits: Limits, operation: OperationRow, report: LeaseReport
) -> tuple[OperationRow, bool]:
    """Keep what a controller reports, and renew its lease. The second value says whether anything was reported.

    Where somebody wants the operation cancelled, no step begins: the answer says so, and the controller turns back.
    """
    changes: OperationChanges = {"lease_until": tx.now + limits.lease}
    if report.steps:
        stays = operation.cancel_requested_at is not None
        told = [one for one in report.steps if not stays or one.status != "running"]
        changes["steps"] = merge_steps(operation.steps, told, tx.now)
    if report.progress is not None:
        changes["progress"] = {"percent": report.progress.percent, "message": report.progress.message}
    if operation.status == "claimed":
        changes |= {"status": "running", "status_since": tx.now}
    news = len(changes) > 1  # a renewed lease alone is no news
    return await queries.operation_change(tx.connection, operation.id, changes, grow=news), news


async def keep_steps(tx: Tx, operation: OperationRow, reports: Sequence[StepReport]) -> None:
    """Keep the last steps, which a controller reports together with the end."""
    if reports:
        kept = merge_steps(operation.steps, reports, tx.now)
        await queries.operation_change(tx.connection, operation.id, {"steps": kept})


async def release_lease(tx: Tx, operation: OperationRow) -> OperationRow:
    """Offer the operation again, so that another replica resumes it. The caller must hold the row lock."""
    changes: OperationChanges = {"status": "pending", "status_since": tx.now}
    changes |= {"lease_digest": None, "lease_until": None, "replica": None}
    tx.wakeups |= {controller_topic(operation.project_id), app_topic(operation.app_slug)}
    return await queries.operation_change(tx.connection, operation.id, changes)


def require_bound(operation: OperationRow, bound_apps: Container[str]) -> None:
    """Refuse a service account that is not bound to the operation's app any more, whatever lease it holds."""
    slug = operation.app_slug
    if slug not in bound_apps:
        raise Problem("not_the_controller", f"The service account is not bound to {slug}.", {"app": slug})


def require_lease(
    actor: Actor, now: datetime, operation: OperationRow | None, operation_id: str, token: str
) -> OperationRow:
    """Return the operation if the caller holds its lease; else raise the problem that says why not."""
    if operation is None:
        raise not_found("operation", operation_id)
    if operation.controller_id != actor.id:
        raise Problem("not_the_controller", "This service account has not claimed the operation.")
    digest = operation.lease_digest if operation.status in LEASED else None
    if digest is None or not secrets.compare_digest(digest, _digest(token)):
        message = f"The operation is {operation.status}, and the token is not that of its present lease."
        raise Problem("lease_lost", message, {"status": operation.status})
    if operation.lease_until is None or operation.lease_until <= now or operation.deadline_at <= now:
        raise Problem("lease_lost", "The lease has lapsed, or the deadline has passed.")
    return operation


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
