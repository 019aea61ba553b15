"""Operations: everything that is asked of an app's controller, and what a controller says about it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.following import OperationWatch
from gpuaas_sdk.nodes import Failure
from gpuaas_sdk.reader import Resource
from gpuaas_sdk.transport import Request, path_of

LIVE_STATUSES = frozenset({"pending", "claimed", "running"})
Document = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class OperationStep:
    name: str = ""
    status: str = ""
    message: str | None = None
    member_id: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class OperationProgress:
    percent: int | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class OperationForced:
    by: str = ""
    at: datetime | None = None
    reason: str = ""
    verified: bool = False


@dataclass(frozen=True, kw_only=True)
class Operation(Resource):
    id: str
    status: str
    kind: str = ""
    project_id: str = ""
    instance_id: str = ""
    app_slug: str = ""
    target: str = "instance"
    member_id: str | None = None
    new_member_id: str | None = None
    parent_id: str | None = None
    on_failure: str | None = None
    status_since: datetime | None = None
    phase: str | None = None
    parameters: Document = field(default_factory=dict)
    steps: list[OperationStep] = field(default_factory=list)
    progress: OperationProgress | None = None
    failure: Failure | None = None
    forced: OperationForced | None = None
    children: Mapping[str, int] | None = None
    reason: str | None = None
    requested_by: str = ""
    requested_by_name: str = ""
    correlation_id: str = ""
    attempt: int = 0
    controller_id: str | None = None
    replica: str | None = None
    cancel_requested_at: datetime | None = None
    created_at: datetime | None = None
    claimed_at: datetime | None = None
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)

    @property
    def live(self) -> bool:
        return self.status in LIVE_STATUSES


class Operations(Calls):
    """As people see them."""

    def list(
        self,
        project_id: str,
        *,
        instance_id: str | None = None,
        parent_id: str | None = None,
        status: str | None = None,
    ) -> Pages[Operation]:
        wanted = {"instance_id": instance_id, "parent_id": parent_id, "status": status}
        return self._pages(Operation, "projects", project_id, "operations", **wanted)

    def show(self, project_id: str, operation_id: str, *, wait: int = 0, newer_than: int = 0) -> Operation:
        """As it is now; or, with `wait`, as soon as its generation is newer or so many seconds are over."""
        query = {"wait": wait or None, "newer_than": newer_than or None}
        path = path_of(*_one(project_id, operation_id))
        return self._record(Operation, Request(method="GET", path=path, query=query, timeout=_patience(wait)))

    def cancel(self, project_id: str, operation_id: str, reason: str | None = None) -> Operation:
        return self._change("POST", Operation, *_one(project_id, operation_id), "cancel", body=given(reason=reason))

    def force(self, project_id: str, operation_id: str, reason: str) -> Operation:
        """End it on your word: what was to be proven is not verified for ever."""
        return self._change("POST", Operation, *_one(project_id, operation_id), "force", body={"reason": reason})

    def follow(self, project_id: str, operation_id: str, deadline: float) -> Iterator[Operation]:
        """The operation now and after each change, until it has ended or `deadline` seconds are over."""

        def look(wait: int, newer_than: int) -> Operation:
            return self.show(project_id, operation_id, wait=wait, newer_than=newer_than)

        return OperationWatch(operation_id, look).until(deadline)


@dataclass(frozen=True, kw_only=True)
class WorkItem(Resource):
    id: str
    kind: str = ""
    instance_id: str = ""
    app_slug: str = ""
    target: str = "instance"
    member_id: str | None = None
    attempt: int = 0
    created_at: datetime | None = None
    deadline_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class _Work:
    items: list[WorkItem] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ControllerAllocation:
    id: str = ""
    name: str | None = None
    state: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str = ""


@dataclass(frozen=True, kw_only=True)
class ControllerMember:
    id: str
    component_key: str = ""
    ordinal: int = 0
    status: str = ""
    allocation: ControllerAllocation | None = None
    adapter_detail: Document | None = None
    host_gone: bool = False
    concerned: bool = False


@dataclass(frozen=True, kw_only=True)
class ControllerVersion:
    version: str = ""
    runtime_version: str | None = None
    digest: str | None = None
    manifest: Document = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ControllerInstance:
    id: str
    name: str = ""
    app_slug: str = ""
    status: str = ""
    generation: int = 0
    version: ControllerVersion = field(default_factory=ControllerVersion)
    inputs: Document = field(default_factory=dict)
    placement_intent: list[Mapping[str, str]] = field(default_factory=list)
    runtime: Document | None = None
    access_bundle: Document | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimedOperation(Resource):
    """The lease, and everything that the work needs. The token is not for logs."""

    operation: Operation
    instance: ControllerInstance
    lease_token: str = field(default="", repr=False)
    lease_until: datetime | None = None
    target_version: ControllerVersion | None = None
    members: list[ControllerMember] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class LeaseRenewed(Resource):
    operation_id: str
    status: str = ""
    lease_until: datetime | None = None
    cancel_requested: bool = False


@dataclass(frozen=True, kw_only=True)
class HealthAccepted(Resource):
    instance_id: str
    status: str = ""
    health: str = ""
    health_reasons: list[Mapping[str, object]] = field(default_factory=list)
    generation: int = 0


class ControllerWork(Calls):
    """As a controller sees them: with a service account that has `apps:control` and is bound to the app."""

    def poll(self, project_id: str, wait: int = 30) -> Sequence[WorkItem]:
        """What waits for this controller; when nothing does, the first that comes within `wait` seconds."""
        path = path_of("projects", project_id, "controller", "work")
        request = Request(method="GET", path=path, query={"wait": wait}, timeout=_patience(wait))
        return self._record(_Work, request).items

    def claim(self, project_id: str, operation_id: str, replica: str) -> ClaimedOperation:
        body = {"replica": replica}
        return self._change("POST", ClaimedOperation, *_one(project_id, operation_id), "claim", body=body)

    def report(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        *,
        steps: Sequence[Document] = (),
        progress: Document | None = None,
    ) -> LeaseRenewed:
        body = given(lease_token=lease_token, steps=list(steps) or None, progress=progress)
        return self._change("POST", LeaseRenewed, *_one(project_id, operation_id), "report", body=body)

    def complete(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        *,
        steps: Sequence[Document] = (),
        members: Sequence[Document] = (),
        runtime: Document | None = None,
        access_bundle: Document | None = None,
    ) -> Operation:
        body = given(
            lease_token=lease_token,
            steps=list(steps) or None,
            members=list(members) or None,
            runtime=runtime,
            access_bundle=access_bundle,
        )
        return self._change("POST", Operation, *_one(project_id, operation_id), "complete", body=body)

    def fail(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        failure: Document,
        *,
        steps: Sequence[Document] = (),
        members: Sequence[Document] = (),
    ) -> Operation:
        """`failure` is {code, message, next_step?, retryable?}."""
        body = given(lease_token=lease_token, failure=failure, steps=list(steps) or None, members=list(members) or None)
        return self._change("POST", Operation, *_one(project_id, operation_id), "fail", body=body)

    def give_back(self, project_id: str, operation_id: str, lease_token: str) -> Operation:
        body = {"lease_token": lease_token}
        return self._change("POST", Operation, *_one(project_id, operation_id), "give-back", body=body)

    def report_health(
        self,
        project_id: str,
        instance_id: str,
        status: str,
        generation: int,
        *,
        reasons: Sequence[Document] = (),
        members: Sequence[Document] = (),
        runtime: Document | None = None,
        access_bundle: Document | None = None,
    ) -> HealthAccepted:
        """`generation` is the instance's when the controller looked; an older one is refused."""
        body = given(
            status=status,
            generation=generation,
            reasons=list(reasons) or None,
            members=list(members) or None,
            runtime=runtime,
            access_bundle=access_bundle,
        )
        path = ("projects", project_id, "instances", instance_id, "health")
        return self._change("PUT", HealthAccepted, *path, body=body)


def _patience(wait: int) -> float | None:
    """The time for an answer that the server may hold back for so long; None: the client's own."""
    return wait + 30.0 if wait else None


def _one(project_id: str, operation_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "operations", operation_id)
