"""Nodes: enrolment, inventory, maintenance, host tasks. For operators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class EnrolmentToken(Resource):
    """`bundle`, which an agent is started with, is there once: in the answer to the creation."""

    id: str
    bundle: str | None = field(default=None, repr=False)
    note: str | None = None
    max_uses: int = 1
    uses: int = 0
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    created_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Maintenance:
    reason: str = ""
    since: datetime | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True)
class SlotSummary:
    total: int = 0
    available: int = 0
    claimed: int = 0
    cleaning: int = 0
    cleanup_blocked: int = 0
    disabled: int = 0
    discovered: int = 0


@dataclass(frozen=True, kw_only=True)
class Node(Resource):
    id: str
    name: str = ""
    hostname: str = ""
    address: str = ""
    status: str = ""
    schedulable: bool = False
    cordoned: bool = False
    draining: bool = False
    drained: bool = False
    maintenance: Maintenance | None = None
    agent_version: str | None = None
    last_seen_at: datetime | None = None
    lost_since: datetime | None = None
    retired_at: datetime | None = None
    boot_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    slots: SlotSummary = field(default_factory=SlotSummary)
    inventory: Mapping[str, object] | None = None
    allowed_actions: list[str] = field(default_factory=list)
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One step of host work, as the agent reported it."""

    name: str = ""
    status: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    code: str = ""
    message: str = ""
    next_step: str | None = None
    retryable: bool = False
    phase: str | None = None


@dataclass(frozen=True, kw_only=True)
class Task(Resource):
    id: str
    node_id: str = ""
    kind: str = ""
    status: str = ""
    resource_id: str | None = None
    generation: int = 0
    deadline: datetime | None = None
    correlation_id: str = ""
    spec: Mapping[str, object] = field(default_factory=dict)
    phases: list[Phase] = field(default_factory=list)
    result: Mapping[str, object] | None = None
    evidence: Mapping[str, object] | None = None
    failure: Failure | None = None
    created_at: datetime | None = None
    reported_at: datetime | None = None


class EnrolmentTokens(Calls):
    def create(self, *, note: str | None = None, expires_in_seconds: int = 3600, max_uses: int = 1) -> EnrolmentToken:
        body = given(note=note, expires_in_seconds=expires_in_seconds, max_uses=max_uses)
        return self._change("POST", EnrolmentToken, "enrolment-tokens", body=body)

    def list(self) -> Pages[EnrolmentToken]:
        return self._pages(EnrolmentToken, "enrolment-tokens")

    def revoke(self, token_id: str) -> None:
        self._discard("DELETE", "enrolment-tokens", token_id)


class Nodes(Calls):
    def list(self, *, status: str | None = None) -> Pages[Node]:
        return self._pages(Node, "nodes", status=status)

    def show(self, node_id: str) -> Node:
        return self._read(Node, "nodes", node_id)

    def update(
        self,
        node_id: str,
        *,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        generation: int | None = None,
    ) -> Node:
        body = given(name=name, labels=labels)
        return self._change("PATCH", Node, "nodes", node_id, body=body, generation=generation)

    def cordon(self, node_id: str, reason: str) -> Node:
        return self._verb(node_id, "cordon", {"reason": reason})

    def uncordon(self, node_id: str) -> Node:
        return self._verb(node_id, "uncordon")

    def drain(self, node_id: str, reason: str) -> Node:
        """Cordon, and ask for the release of all its allocations."""
        return self._verb(node_id, "drain", {"reason": reason})

    def retire(self, node_id: str, reason: str) -> Node:
        return self._verb(node_id, "retire", {"reason": reason})

    def discover(self, node_id: str) -> Task:
        return self._change("POST", Task, "nodes", node_id, "discover")

    def tasks(self, node_id: str) -> Pages[Task]:
        return self._pages(Task, "nodes", node_id, "tasks")

    def task(self, task_id: str) -> Task:
        return self._read(Task, "tasks", task_id)

    def _verb(self, node_id: str, verb: str, body: Mapping[str, object] | None = None) -> Node:
        return self._change("POST", Node, "nodes", node_id, verb, body=body)


__all__: Sequence[str] = [
    "EnrolmentToken",
    "EnrolmentTokens",
    "Failure",
    "Maintenance",
    "Node",
    "Nodes",
    "Phase",
    "SlotSummary",
    "Task",
]
