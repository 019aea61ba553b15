"""Host tasks: other nouns create them and read their results; the agent of the node reports them.

The noun that creates a task names a work row (`notify_kind`, `notify_subject`) that runs when the result is in.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

import orjson

from gpuaas_server.host_tasks import queries
from gpuaas_server.host_tasks.rows import CreatedTask, PhaseDocument, TaskRow
from gpuaas_server.host_tasks.schemas import Task
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.failures import FailureDocument
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.work import leases

__all__ = [
    "EXPIRY_GRACE",
    "LARGEST_REPORT",
    "NewTask",
    "PhaseDocument",
    "ReportedTask",
    "TaskReport",
    "TaskRow",
    "limit_report",
    "mark_failed",
    "newest_tasks",
    "next_generation",
    "progress_store",
    "report_store",
    "task_create",
    "task_list",
    "task_show",
    "tasks_create",
    "tasks_expire",
    "tasks_forget_of",
    "tasks_forget_served",
    "tasks_of_resource",
    "topic",
]

# Bytes of JSON in a result with its evidence. The largest that an honest agent has is half of it: every check of a wipe with
# a full list of findings.
LARGEST_REPORT = 512 * 1024
# An agent that was cut off may still bring the result of a task that ended in time.
EXPIRY_GRACE = timedelta(seconds=60)


def topic(node_id: str) -> str:
    """Return the wake-up that the agent of a node waits for while it has no tasks."""
    return f"task:{node_id}"


@dataclass(frozen=True, slots=True)
class NewTask:
    node_id: str
    tenant_id: str | None  # whose allocation it concerns; None: the node itself
    kind: str
    resource_id: str
    generation: int
    spec: dict[str, object]
    deadline: datetime
    notify_kind: str
    notify_subject: str


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A result as the agent sent it, made storable."""

    generation: int
    status: str
    phases: list[PhaseDocument]
    result: dict[str, object]
    evidence: dict[str, object]
    failure: FailureDocument | None

    def digest(self) -> bytes:
        parts = [self.generation, self.status, self.phases, self.result, self.evidence, self.failure]
        return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).digest()


def limit_report(report: TaskReport) -> TaskReport:
    """Return the report, or a failure in place of one that is too large: a host does not decide how much is stored."""
    size = len(orjson.dumps([report.result, report.evidence]))
    if size <= LARGEST_REPORT:
        return report
    failure: FailureDocument = {
        "code": "report_too_large",
        "message": f"The host reported {size} bytes; at most {LARGEST_REPORT} are kept.",
        "next_step": "Look at the host: no task has that much to say.",
        "retryable": False,
    }
    return TaskReport(report.generation, "failed", report.phases, {}, {"bytes": size}, failure)


@dataclass(frozen=True, slots=True)
class ReportedTask:
    """Tells what a stored result was about. `first`: this report counted; a repetition does not."""

    kind: str
    resource_id: str
    first: bool


async def task_create(
    tx: Tx,
    *,
    node_id: str,
    tenant_id: str | None,
    kind: str,
    resource_id: str,
    generation: int,
    spec: dict[str, object],
    deadline: datetime,
    notify_kind: str,
    notify_subject: str,
) -> str:
    """Create a task for the node's agent, sent as soon as this commits. It replaces older pending ones of the resource."""
    new = NewTask(node_id, tenant_id, kind, resource_id, generation, spec, deadline, notify_kind, notify_subject)
    return (await tasks_create(tx, [new]))[0]


async def tasks_create(tx: Tx, news: Sequence[NewTask]) -> list[str]:
    if not news:
        return []
    ids = [new_id("tsk") for _ in news]
    rows = [
        fields_of(
            CreatedTask(
                id=task_id,
                node_id=new.node_id,
                tenant_id=new.tenant_id,
                kind=new.kind,
                resource_id=new.resource_id,
                generation=new.generation,
                spec=new.spec,
                deadline=new.deadline,
                correlation_id=tx.actor.correlation_id,
                traceparent=tx.actor.traceparent,
                notify_kind=new.notify_kind,
                notify_subject=new.notify_subject,
                created_at=tx.now,
            )
        )
        for task_id, new in zip(ids, news, strict=True)
    ]
    tx.later.insert(queries.TASK_REPLACE, rows)
    tx.later.insert(queries.TASK_INSERT, rows)
    tx.wakeups.update(topic(new.node_id) for new in news)
    return ids


async def tasks_of_resource(connection: Connection, resource_id: str) -> list[TaskRow]:
    """List all tasks that were ever sent for the resource, oldest generation first."""
    return await queries.tasks_of_resource(connection, resource_id)


async def newest_tasks(connection: Connection, resource_ids: Sequence[str]) -> dict[str, TaskRow]:
    """Return the newest task of each resource that has any."""
    return {row.resource_id: row for row in await queries.newest_tasks(connection, resource_ids)}


async def report_store(tx: Tx, node_id: str, task_id: str, report: TaskReport, key_generation: int) -> ReportedTask:
    """Store the first report, accept its repetition, refuse another one; and wake the noun that asked.

    The work row is locked before the task, as the worker does: the other way round the two would wait for each other.
    """
    asked = await queries.task_notifies(tx.connection, node_id, task_id)
    if asked is None:
        raise Problem("task_not_found")
    await leases.enqueue(tx, asked.notify_kind, [asked.notify_subject])
    row = await queries.task_lock(tx.connection, node_id, task_id)
    if row is None:
        raise Problem("task_not_found")
    if row.generation != report.generation or row.status in ("superseded", "expired"):
        raise Problem("stale_generation", f"The task is {row.status}, of generation {row.generation}.")
    digest = report.digest()
    if row.status != "pending":
        if row.report_sha256 != digest:
            raise Problem("task_already_reported")
        return ReportedTask(row.kind, row.resource_id, first=False)
    await queries.task_report(
        tx.connection,
        task_id,
        report.status,
        orjson.dumps(report.phases).decode(),
        orjson.dumps(report.result).decode(),
        orjson.dumps(report.evidence).decode(),
        None if report.failure is None else orjson.dumps(report.failure).decode(),
        digest,
        key_generation,
        tx.now,
    )
    return ReportedTask(row.kind, row.resource_id, first=True)


async def progress_store(tx: Tx, node_id: str, task_id: str, generation: int, phases: list[PhaseDocument]) -> None:
    stored = orjson.dumps(phases).decode()
    if await queries.task_progress(tx.connection, node_id, task_id, generation, stored):
        return
    if await queries.task_lock(tx.connection, node_id, task_id) is None:
        raise Problem("task_not_found")
    raise Problem("stale_generation")


async def mark_failed(tx: Tx, task_id: str, failure: FailureDocument) -> None:
    """Fail a task that the agent reported as a success with unusable content. A repetition of its report is accepted."""
    await queries.task_fail(tx.connection, task_id, orjson.dumps(failure).decode())


# Tasks that somebody repeats for as long as the node or the allocation lives. The others are an allocation's evidence, and
# stay until its history goes as a whole.
_REPEATED = ("discover", "sync_access")
# Tasks whose result was written down elsewhere for good: a receipt keeps what the look showed, a terminal how it ended, a
# member what its probes say, a reader of logs got its lines.
_TOLD = ("inspect", "terminal", "probe", "logs")


async def tasks_forget_of(tx: Tx, resource_ids: Sequence[str]) -> None:
    """Delete the tasks of resources that have ended for ever."""
    await queries.tasks_delete_of(tx.connection, resource_ids)


async def tasks_forget_served(tx: Tx, before: datetime, portion: int) -> int:
    return await queries.tasks_delete_served(tx.connection, _REPEATED, _TOLD, before, portion)


async def tasks_expire(tx: Tx) -> None:
    """End the tasks whose deadline has passed without a result, and enqueue the work that waits for them."""
    notified: dict[str, list[str]] = defaultdict(list)
    for row in await queries.tasks_expire(tx.connection, tx.now - EXPIRY_GRACE, tx.now):
        if row.notify_subject not in notified[row.notify_kind]:
            notified[row.notify_kind].append(row.notify_subject)
    for kind, subjects in notified.items():
        await leases.enqueue(tx, kind, subjects)


async def task_list(connection: Connection, node_id: str, page: PageRequest) -> Page[Task]:
    """List the tasks of a node, newest first."""
    rows = await queries.task_list(connection, node_id, page)
    return Page[Task].of([Task(**fields_of(row)) for row in rows], page)


async def task_show(connection: Connection, task_id: str) -> Task:
    row = await queries.task_show(connection, task_id)
    if row is None:
        raise not_found("task", task_id)
    return Task(**fields_of(row))


async def next_generation(connection: Connection, resource_id: str) -> int:
    """Return the next generation of the resource's tasks. The caller holds a lock on the resource."""
    return await queries.next_generation(connection, resource_id)
