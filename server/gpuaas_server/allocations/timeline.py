"""The timeline of an allocation: its state changes and the phases of its host tasks, in order of time."""

from datetime import datetime

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.rows import TransitionRow
from gpuaas_server.allocations.schemas import FailureReason, Timeline, TimelineEntry
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found


async def allocation_timeline(connection: Connection, project_id: str, allocation_id: str) -> Timeline:
    row = await queries.allocation_show(connection, project_id, allocation_id)
    if row is None:
        raise not_found("allocation", allocation_id)
    transitions = await queries.transition_list(connection, allocation_id)
    entries = [_state(t, nxt) for t, nxt in zip(transitions, [*transitions[1:], None], strict=True)]
    for task in await host_tasks.tasks_of_resource(connection, allocation_id):
        entries += _phases(task)
    entries.sort(key=lambda entry: entry.at)
    return Timeline(allocation_id=allocation_id, items=entries, wipe_evidence=row.wipe_evidence, forced=row.forced)


def _state(row: TransitionRow, following: TransitionRow | None) -> TimelineEntry:
    until = following.at if following else None
    return TimelineEntry(
        at=row.at,
        kind="state",
        name=row.state,
        status="left" if until else "current",
        finished_at=until,
        seconds=(until - row.at).total_seconds() if until else None,
        detail=row.reason,
        actor=row.actor,
        failure=FailureReason(**row.failure) if row.failure else None,
    )


def _phases(task: host_tasks.TaskRow) -> list[TimelineEntry]:
    """List the task itself, then each phase that the agent reported."""
    ended = task.reported_at
    entries = [
        TimelineEntry(
            at=task.created_at,
            kind="phase",
            name=task.kind,
            status=task.status,
            finished_at=ended,
            seconds=(ended - task.created_at).total_seconds() if ended else None,
            detail=task.failure["message"] if task.failure else None,
        )
    ]
    for phase in task.phases:
        started, finished = _moment(phase["started_at"]), _moment(phase["finished_at"])
        if started is not None:
            entries.append(
                TimelineEntry(
                    at=started,
                    kind="phase",
                    name=f"{task.kind}/{phase['name']}",
                    status=phase["status"],
                    finished_at=finished,
                    seconds=(finished - started).total_seconds() if finished else None,
                    detail=phase["detail"] or None,
                )
            )
    return entries


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
