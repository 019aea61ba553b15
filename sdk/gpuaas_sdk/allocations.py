"""Allocations: GPUs held by a project, from request to proven release."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.access import SshEndpoint
from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.errors import ServerFailed, Unreachable, deadline_exceeded
from gpuaas_sdk.events import Events
from gpuaas_sdk.nodes import Failure
from gpuaas_sdk.reader import Resource

# Where no further step of the platform follows without somebody asking for one.
SETTLED_STATES = frozenset({"active", "released", "failed", "release_failed"})
AWAY_SECONDS = 0.5
EVENT_WAIT_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class Allocation(Resource):
    id: str
    state: str
    project_id: str = ""
    batch_id: str | None = None
    name: str | None = None
    sku_id: str = ""
    sku_name: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str | None = None
    phase: str | None = None
    state_since: datetime | None = None
    deadline_at: datetime | None = None
    release_by: datetime | None = None
    failure: Failure | None = None
    ssh: SshEndpoint | None = None
    wipe_verified: bool | None = None
    created_by: str = ""
    allowed_actions: list[str] = field(default_factory=list)
    correlation_id: str = ""
    generation: int = 0
    created_at: datetime | None = None
    active_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def settled(self) -> bool:
        return self.state in SETTLED_STATES


@dataclass(frozen=True, kw_only=True)
class TimelineEntry:
    """A state that was entered (`kind` state), or a phase of work on the host (`kind` phase)."""

    at: datetime
    kind: str = "state"
    name: str = ""
    status: str = ""
    finished_at: datetime | None = None
    seconds: float | None = None
    detail: str | None = None
    actor: str | None = None
    failure: Failure | None = None


@dataclass(frozen=True, kw_only=True)
class Timeline(Resource):
    allocation_id: str = ""
    items: list[TimelineEntry] = field(default_factory=list)
    wipe_evidence: Mapping[str, object] | None = None
    forced: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAllocation:
    """`ssh_key_ids` are stored keys of the caller that may log in for as long as the allocation lives."""

    sku: str
    gpu_count: int | None = None
    count: int = 1
    name: str | None = None
    ssh_key_ids: Sequence[str] = ()

    def body(self) -> Mapping[str, object]:
        return given(
            sku=self.sku,
            gpu_count=self.gpu_count,
            count=self.count,
            name=self.name,
            ssh_key_ids=list(self.ssh_key_ids) or None,
        )


@dataclass(frozen=True, kw_only=True)
class _Allocations:
    items: list[Allocation] = field(default_factory=list)


class Allocations(Calls):
    def create(self, project_id: str, new: NewAllocation) -> Sequence[Allocation]:
        """All of `count`, or none."""
        path = ("projects", project_id, "allocations")
        return self._change("POST", _Allocations, *path, body=new.body()).items

    def list(self, project_id: str | None, *, state: str | None = None) -> Pages[Allocation]:
        """Of one project; `None` means of the whole platform, for operators."""
        path = ("allocations",) if project_id is None else ("projects", project_id, "allocations")
        return self._pages(Allocation, *path, state=state)

    def show(self, project_id: str, allocation_id: str) -> Allocation:
        return self._read(Allocation, *_one(project_id, allocation_id))

    def timeline(self, project_id: str, allocation_id: str) -> Timeline:
        return self._read(Timeline, *_one(project_id, allocation_id), "timeline")

    def release(self, project_id: str, allocation_id: str, reason: str | None = None) -> Allocation:
        path = (*_one(project_id, allocation_id), "release")
        return self._change("POST", Allocation, *path, body=given(reason=reason))

    def retry_release(self, project_id: str, allocation_id: str) -> Allocation:
        return self._change("POST", Allocation, *_one(project_id, allocation_id), "retry-release")

    def force_cleanup(self, project_id: str, allocation_id: str, reason: str, evidence: str) -> Allocation:
        """Give blocked slots back on a person's word: who cleaned, how it was checked."""
        body = {"reason": reason, "evidence": evidence}
        path = (*_one(project_id, allocation_id), "force-cleanup")
        return self._change("POST", Allocation, *path, body=body)

    def follow(self, project_id: str, allocation_ids: Sequence[str], deadline: float) -> Iterator[Allocation]:
        """Each allocation now and after each change, until all are settled or the deadline is over.

        A server that is away for a while (a restart) is waited for, within the deadline.
        """
        ends = time.monotonic() + deadline
        open_ids, seen = set(allocation_ids), dict[str, Allocation]()
        pause = self._pause(project_id, allocation_ids)
        left = deadline
        while open_ids:
            if left <= 0:
                waiting = ", ".join(sorted(open_ids)[:3])
                raise deadline_exceeded(f"Not settled after {deadline:g} seconds: {waiting}.")
            try:
                pause(left)
                found = list(self._look(project_id, open_ids))
            except (Unreachable, ServerFailed):
                found = []
                time.sleep(min(max(left, 0.0), AWAY_SECONDS))
            for allocation in found:
                if seen.get(allocation.id) != allocation:
                    seen[allocation.id] = allocation
                    yield allocation
            open_ids = {one for one in open_ids if one not in seen or not seen[one].settled}
            left = ends - time.monotonic()

    def _look(self, project_id: str, wanted: set[str]) -> Iterator[Allocation]:
        """One call for one allocation; for many, the newest pages of the list up to the oldest wanted."""
        if len(wanted) == 1:
            yield self.show(project_id, *wanted)
            return
        oldest = min(wanted)
        for allocation in self.list(project_id):
            if allocation.id < oldest:
                return
            if allocation.id in wanted:
                yield allocation

    def _pause(self, project_id: str, allocation_ids: Sequence[str]) -> Callable[[float], None]:
        """The first time only marks the place in the log; after that, until an event says that something changed."""
        events = Events(self._transport)
        subject = allocation_ids[0] if len(allocation_ids) == 1 else None
        cursor: str | None = None

        def pause(left: float) -> None:
            nonlocal cursor
            if cursor is None:
                cursor = events.end(project_id)
                return
            wait = int(max(1, min(EVENT_WAIT_SECONDS, left)))
            cursor = events.page(project_id, after=cursor, subject=subject, wait=wait).next_cursor

        return pause


def _one(project_id: str, allocation_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "allocations", allocation_id)
