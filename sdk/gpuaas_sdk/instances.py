"""App instances and their members: what a project runs on its allocations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.nodes import Failure
from gpuaas_sdk.operations import Operation
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class HealthReason:
    code: str = ""
    message: str = ""
    member_id: str | None = None
    component_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceVersion:
    version: str = ""
    runtime_version: str | None = None
    digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlacementIntent:
    component_key: str
    allocation_id: str


@dataclass(frozen=True, kw_only=True)
class Instance(Resource):
    """A list gives the short form: without inputs, placement, runtime and access bundle."""

    id: str
    name: str
    status: str
    project_id: str = ""
    app_id: str = ""
    app_slug: str = ""
    version: str = ""
    runtime_version: str | None = None
    digest: str | None = None
    status_since: datetime | None = None
    health: str = "unknown"
    health_since: datetime | None = None
    health_reasons: list[HealthReason] = field(default_factory=list)
    health_reported_at: datetime | None = None
    failure: Failure | None = None
    member_counts: Mapping[str, int] = field(default_factory=dict)
    operation_id: str | None = None
    last_operation_id: str | None = None
    created_by: str = ""
    correlation_id: str = ""
    created_at: datetime | None = None
    deployed_at: datetime | None = None
    decommissioned_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)
    inputs: Mapping[str, object] = field(default_factory=dict)
    placement_intent: list[PlacementIntent] = field(default_factory=list)
    runtime: Mapping[str, object] | None = None
    access_bundle: Mapping[str, object] | None = None
    previous_version: InstanceVersion | None = None
    attempted_version: InstanceVersion | None = None
    flags: list[HealthReason] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class InstanceStarted(Resource):
    """The instance, and the operation to follow."""

    instance: Instance
    operation: Operation


@dataclass(frozen=True, kw_only=True)
class InstanceMember(Resource):
    id: str
    status: str
    instance_id: str = ""
    component_key: str = ""
    ordinal: int = 0
    allocation_id: str = ""
    node_id: str = ""
    status_since: datetime | None = None
    failure: Failure | None = None
    adapter_detail: Mapping[str, object] | None = None
    operation_id: str | None = None
    last_operation_id: str | None = None
    correlation_id: str = ""
    verified: bool | None = None
    created_at: datetime | None = None
    ready_at: datetime | None = None
    removed_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class TimelineEvent:
    id: str = ""
    at: datetime | None = None
    type: str = ""
    subject: str = ""
    actor: str = ""
    correlation_id: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class InstanceTimeline(Resource):
    instance_id: str = ""
    items: list[TimelineEvent] = field(default_factory=list)
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInstance:
    app: str
    name: str
    placement_intent: Sequence[PlacementIntent]
    version: str | None = None
    inputs: Mapping[str, object] = field(default_factory=dict)
    deadline_seconds: int | None = None

    def body(self) -> Mapping[str, object]:
        places = [
            {"component_key": one.component_key, "allocation_id": one.allocation_id} for one in self.placement_intent
        ]
        return given(
            app=self.app,
            name=self.name,
            version=self.version,
            placement_intent=places,
            inputs=dict(self.inputs),
            deadline_seconds=self.deadline_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberChange:
    """`add` takes a component and allocations; `replace` (member, allocation) pairs; the others take members."""

    kind: str
    component_key: str | None = None
    allocation_ids: Sequence[str] = ()
    targets: Sequence[str] = ()
    replacements: Sequence[tuple[str, str]] = ()
    on_failure: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)  # what the app's manifest takes with this kind
    reason: str | None = None
    deadline_seconds: int | None = None

    def body(self) -> Mapping[str, object]:
        pairs = [{"member_id": member, "allocation_id": allocation} for member, allocation in self.replacements]
        return given(
            kind=self.kind,
            component_key=self.component_key,
            allocation_ids=list(self.allocation_ids) or None,
            targets=list(self.targets) or None,
            replacements=pairs or None,
            on_failure=self.on_failure,
            options=dict(self.options) or None,
            reason=self.reason,
            deadline_seconds=self.deadline_seconds,
        )


class Instances(Calls):
    def create(self, project_id: str, new: NewInstance) -> InstanceStarted:
        return self._change("POST", InstanceStarted, "projects", project_id, "instances", body=new.body())

    def list(self, project_id: str, *, status: str | None = None, app: str | None = None) -> Pages[Instance]:
        return self._pages(Instance, "projects", project_id, "instances", status=status, app=app)

    def show(self, project_id: str, instance_id: str) -> Instance:
        return self._read(Instance, *_one(project_id, instance_id))

    def timeline(
        self, project_id: str, instance_id: str, *, after: str | None = None, wait: int = 0, limit: int = 100
    ) -> InstanceTimeline:
        path = (*_one(project_id, instance_id), "timeline")
        return self._read(InstanceTimeline, *path, after=after, wait=wait, limit=limit)

    def operate(
        self,
        project_id: str,
        instance_id: str,
        verb: str,
        *,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        deadline_seconds: int | None = None,
    ) -> InstanceStarted:
        """deploy (again), start, stop, restart, rollback, reconcile, repair or decommission."""
        body = given(options=options or None, reason=reason, deadline_seconds=deadline_seconds)
        return self._change("POST", InstanceStarted, *_one(project_id, instance_id), verb, body=body)

    def upgrade(
        self,
        project_id: str,
        instance_id: str,
        version: str,
        *,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        deadline_seconds: int | None = None,
    ) -> InstanceStarted:
        body = given(version=version, options=options or None, reason=reason, deadline_seconds=deadline_seconds)
        return self._change("POST", InstanceStarted, *_one(project_id, instance_id), "upgrade", body=body)

    def members(self, project_id: str, instance_id: str, *, removed: bool = False) -> Pages[InstanceMember]:
        """With `removed`, also those that are gone."""
        path = (*_one(project_id, instance_id), "members")
        return self._pages(InstanceMember, *path, removed="true" if removed else None)

    def member(self, project_id: str, instance_id: str, member_id: str) -> InstanceMember:
        return self._read(InstanceMember, *_one(project_id, instance_id), "members", member_id)

    def change_members(self, project_id: str, instance_id: str, change: MemberChange) -> Operation:
        """One operation; of many targets, the bulk operation above theirs."""
        path = (*_one(project_id, instance_id), "member-operations")
        return self._change("POST", Operation, *path, body=change.body())


def _one(project_id: str, instance_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "instances", instance_id)
