"""The face of operations: what people and controllers read, and the verbs that `instances` calls.

An operation is what an app's controller is asked to do: a row with a lease, steps and a deadline. Whatever it changes of
instances and members is in `instances`, which is built on this.
"""

from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Connection, Scope
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.operation_kinds import (
    ADD,
    BRINGS_CURRENT,
    CHANGES_VERSION,
    CLOSABLE,
    INSTANCE_KINDS,
    KINDS,
    MAY_REMOVE_REQUIRED_MEMBERS,
    MEMBER_KINDS,
    TEARDOWNS,
    WITH_OPTIONS,
    ClosableKind,
    Kind,
    MemberKind,
)
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.wakeups import PollResult
from gpuaas_server.operations import queries
from gpuaas_server.operations.lease import (
    LeasedOperation,
    claim_lease,
    keep_steps,
    release_lease,
    renew_lease,
    require_bound,
    require_lease,
)
from gpuaas_server.operations.lifecycle import (
    WORK,
    BulkProgress,
    OperationRequest,
    accept_unproven,
    app_topic,
    await_proof,
    bulk_progress,
    controller_topic,
    end_operation,
    ended_operations,
    forget_operations,
    insert_operations,
    instance_topic,
    live_children,
    request_cancel,
    schedule,
    store_bulk_progress,
)
from gpuaas_server.operations.machine import (
    LEASED,
    LIVE,
    PROBING,
    VERIFYING,
    Evidence,
    Limits,
    Snapshot,
    Step,
    decide,
)
from gpuaas_server.operations.queries import (
    first_lock,
    live_lock,
    operation_instance,
    operation_lock,
    operations_lock,
    report_lock,
)
from gpuaas_server.operations.rows import ForcedDocument, NewOperation, OperationRow, WaitingOperation
from gpuaas_server.operations.schemas import Operation
from gpuaas_server.operations.views import forcible, operation_of

__all__ = [
    "ADD",
    "BRINGS_CURRENT",
    "CHANGES_VERSION",
    "CLOSABLE",
    "INSTANCE_KINDS",
    "KINDS",
    "LEASED",
    "LIVE",
    "MAY_REMOVE_REQUIRED_MEMBERS",
    "MEMBER_KINDS",
    "MOST_WORK",
    "PROBING",
    "TEARDOWNS",
    "VERIFYING",
    "WITH_OPTIONS",
    "WORK",
    "BulkProgress",
    "ClosableKind",
    "Evidence",
    "ForcedDocument",
    "Kind",
    "LeasedOperation",
    "Limits",
    "MemberKind",
    "NewOperation",
    "OperationRequest",
    "OperationRow",
    "Snapshot",
    "Step",
    "WaitingOperation",
    "accept_unproven",
    "app_topic",
    "await_proof",
    "bulk_progress",
    "claim_lease",
    "controller_topic",
    "decide",
    "end_operation",
    "ended_operations",
    "find_operation",
    "first_lock",
    "forcible",
    "forget_operations",
    "insert_operations",
    "instance_topic",
    "keep_steps",
    "live_children",
    "live_lock",
    "operation_follow",
    "operation_instance",
    "operation_list",
    "operation_lock",
    "operation_of",
    "operation_show",
    "operations_lock",
    "release_lease",
    "renew_lease",
    "report_lock",
    "request_cancel",
    "require_bound",
    "require_lease",
    "schedule",
    "store_bulk_progress",
    "work_list",
]

MOST_WORK = 50


async def find_operation(connection: Connection, project_id: str, operation_id: str) -> OperationRow:
    row = await queries.operation_show(connection, project_id, operation_id)
    if row is None:
        raise not_found("operation", operation_id)
    return row


async def operation_show(connection: Connection, caller: Caller, operation_id: str) -> Operation:
    row = await queries.operation_show(connection, caller.project_id, operation_id, identity.visible_apps(caller))
    if row is None:
        raise not_found("operation", operation_id)
    return operation_of(row, caller)


async def operation_follow(
    platform: Platform,
    scope: Scope,
    caller: Caller,
    operation_id: str,
    newer_than: int,
    wait: float,
) -> Operation:
    """Answer once the operation's generation is newer than the caller's; one that has ended is not waited for.

    Whatever changes an operation wakes those who watch its instance, so that is what is listened to.
    """
    seen_apps = identity.visible_apps(caller)

    async def read() -> PollResult[OperationRow]:
        async with platform.database.connection(scope) as connection:
            row = await queries.operation_show(connection, caller.project_id, operation_id, seen_apps)
        if row is None:
            raise not_found("operation", operation_id)
        return PollResult(row, row.finished_at is not None or row.generation > newer_than)

    seen = await read()
    row = seen.found
    if not seen.enough and wait > 0:
        row = await platform.wakeups.long_poll(instance_topic(row.instance_id), read, wait)
    return operation_of(row, caller)


async def operation_list(
    connection: Connection,
    caller: Caller,
    project_id: str | None,
    instance_id: str | None,
    parent_id: str | None,
    status: str | None,
    page: PageRequest,
) -> Page[Operation]:
    seen = identity.visible_apps(caller)
    rows = await queries.operation_list(connection, project_id, instance_id, parent_id, status, page, seen)
    return Page[Operation].of([operation_of(row, caller) for row in rows], page)


async def work_list(connection: Connection, caller: Caller, project_id: str) -> list[WaitingOperation]:
    """List what waits in the project for a controller of the caller's apps, the oldest first."""
    return await queries.work_list(connection, project_id, identity.bound_apps(caller), MOST_WORK)
