"""Allocations: GPUs held by a project, from request to proven release."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.access import SshEndpoint
from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.errors import deadline_exceeded
from gpuaas_sdk.events import Events
from gpuaas_sdk.nodes import Failure, Phase
from gpuaas_sdk.reader import Resource

# Where no further step of the platform follows without somebody asking for one.
SETTLED_STATES = frozenset({"active", "released", "failed", "release_failed"})
LOOK_AGAIN_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class Allocation(Resource):
    id: str
    state: str
    project_id: str = ""
    tenant_id: str = ""
    name: str | None = None
    sku: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str | None = None
    phase: str | None = None
    state_since: datetime | None = None
    deadline_at: datetime | None = None
    failure: Failure | None = None
    ssh: SshEndpoint | None = None
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
    at: datetime | None = None
    state: str = ""
    phase: str | None = None
    actor: str = ""
    reason: str | None = None
    failure: Failure | None = None
    phases: list[Phase] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Timeline(Resource):
    items: list[TimelineEntry] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAllocation:
    sku: str
    gpu_count: int | None = None
    count: int = 1
    name: str | None = None
    ssh_key_ids: Sequence[str] | None = None

    def body(self) -> Mapping[str, object]:
        return given(
            sku=self.sku,
            gpu_count=self.gpu_count,
            count=self.count,
            name=self.name,
            ssh_key_ids=None if self.ssh_key_ids is None else list(self.ssh_key_ids),
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

    def follow(self, project_id: str, allocation_id: str, deadline: float) -> Iterator[Allocation]:
        """The allocation now and after each change, until it is settled or the deadline is over."""
        ends = time.monotonic() + deadline
        events, cursor, seen = Events(self._transport), None, -1
        while True:
            allocation = self.show(project_id, allocation_id)
            if allocation.generation != seen:
                seen = allocation.generation
                yield allocation
            if allocation.settled:
                return
            left = ends - time.monotonic()
            if left <= 0:
                raise deadline_exceeded(
                    f"{allocation_id} is still {allocation.state} after {deadline:g} seconds."
                )
            wait = int(max(1, min(LOOK_AGAIN_SECONDS, left)))
            page = events.page(project_id, after=cursor, subject=allocation_id, wait=wait)
            cursor = page.next_cursor


def _one(project_id: str, allocation_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "allocations", allocation_id)
