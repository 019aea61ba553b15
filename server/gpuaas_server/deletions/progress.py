"""Tells how far the deletions under way are: what each waits for, since when, and what somebody can do about it."""

from collections import Counter
from datetime import datetime, timedelta

from gpuaas_server.deletions import progress_queries as queries
from gpuaas_server.deletions.progress_queries import LiveDeletion
from gpuaas_server.deletions.schemas import Deletion, DeletionWait, WaitStage
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of

STUCK_AFTER = timedelta(minutes=10)
MOST_COUNTED = 1000
_NEXT_STEPS: dict[WaitStage, str] = {
    "leftovers": "Release, decommission or settle what is named. The deletion goes on within a minute.",
    "artifacts": "Make sure that the artifact store can be reached and lets the platform delete. It is tried again by itself.",
    "secrets": "Make sure that OpenBao can be reached and that the platform may delete there. It is tried again by itself.",
    "failing": "Look for the deletion's id in the worker's log and remove the cause. It is tried again every minute.",
    "worker": "Check that a worker runs, and whether the lane `bulk` has free slots.",
}


async def deletion_list(connection: Connection, now: datetime, stuck: bool | None, page: PageRequest) -> Page[Deletion]:
    rows = await queries.live_deletions(connection, now, now - STUCK_AFTER, bool(stuck), page.after, page.rows)
    return Page[Deletion].of([_shown(row, now) for row in rows], page)


async def count_stuck(tx: Tx) -> None:
    """Count for monitoring, by what they wait for."""
    rows = await queries.live_deletions(tx.connection, tx.now, tx.now - STUCK_AFTER, True, None, MOST_COUNTED)
    found = Counter(wait.stage for row in rows if (wait := wait_of(row, tx.now)))
    for stage in _NEXT_STEPS:
        metrics.deletions_stuck.labels(stage).set(found[stage])


def wait_of(row: LiveDeletion, now: datetime) -> DeletionWait | None:
    """Return what the deletion waits for. None: its date has not come, or it made progress a moment ago."""
    if row.delete_after is None or now < row.delete_after:
        return None
    since = max(row.progressed_at or row.delete_after, row.delete_after)
    if row.last_error is not None:
        return _wait("failing", since, f"The last attempt failed: {row.last_error}")
    if row.waits_for is not None:
        return _wait(row.waits_for, since, row.waits_detail or "")
    if _is_stuck(since, now):
        return _wait("worker", since, "No worker has gone on with it.")
    return None


def _wait(stage: WaitStage, since: datetime, why: str) -> DeletionWait:
    return DeletionWait(stage=stage, since=since, why=why, next_step=_NEXT_STEPS[stage])


def _is_stuck(since: datetime, now: datetime) -> bool:
    return since <= now - STUCK_AFTER


def _shown(row: LiveDeletion, now: datetime) -> Deletion:
    wait = wait_of(row, now)
    columns = {name: value for name, value in fields_of(row).items() if name in Deletion.model_fields}
    return Deletion(**columns, wait=wait, stuck=wait is not None and _is_stuck(wait.since, now))
