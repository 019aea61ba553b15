"""The rows of instances and members, and the documents that they keep."""

from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from gpuaas_server.catalog.service import ManifestDocument
from gpuaas_server.instances.drift_rows import DriftDocument
from gpuaas_server.instances.probe_documents import (
    ProbeDocument,
    ProbeReportDocument,
    ProbeStateDocument,
    WatchDocument,
)
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import FailureDocument
from gpuaas_server.kernel.rows import computed, computed_from


class VersionDocument(TypedDict):
    """A version as an instance keeps it: the one it runs, the one before, or one that it was to change to."""

    version_id: str
    version: str
    runtime_version: str | None
    digest: str | None
    publisher_project_id: str
    manifest: ManifestDocument


class PlacementDocument(TypedDict):
    component_key: str
    allocation_id: str


class ProjectDocument(TypedDict):
    """A project that an instance serves."""

    project_id: str
    slug: str
    home: bool


class ReasonDocument(TypedDict):
    """A reason for the health of an instance, or a flag of its version."""

    code: str
    message: str
    member_id: NotRequired[str]
    member_ids: NotRequired[list[str]]  # where the same is true of several
    component_key: NotRequired[str]
    next_step: NotRequired[str]


class ReportDocument(TypedDict):
    """The document holds what a controller last said about health."""

    status: str
    reasons: list[ReasonDocument]


class ClosedDocument(TypedDict):
    kind: str
    component_key: str | None
    message: str
    next_step: str


class ModeDocument(TypedDict):
    """The form that an instance has, as its app names it, and what the app does not take in that form."""

    name: str
    meaning: str
    closed: list[ClosedDocument]


RUNTIME_VERSION, MAX_RUNTIME_VERSION = "runtime_version", 64  # the key in what a controller reports as runtime


@dataclass(frozen=True, slots=True)
class InstanceSummaryRow:
    """Holds what a list shows; the rest (inputs, runtime, the manifest) can be large."""

    id: str
    tenant_id: str
    project_id: str
    name: str
    app_id: str
    app_slug: str
    version_id: str
    version: str
    runtime_version: str | None
    digest: str | None
    status: str
    status_since: datetime
    failure: FailureDocument | None
    health: str
    health_since: datetime
    health_reasons: list[ReasonDocument]
    reported_at: datetime | None
    flags: list[ReasonDocument]
    member_counts: dict[str, int]
    bound_capacity_shape: str | None
    operation_id: str | None  # the live one on the whole instance
    last_operation_id: str | None
    created_by: str
    correlation_id: str
    created_at: datetime
    deployed_at: datetime | None
    decommissioned_at: datetime | None
    generation: int
    mode: ModeDocument | None
    secrets_stale: bool
    secrets_due: list[str]
    secrets_exposed: list[str]
    reconcile_policy: str
    members_busy: bool = field(
        metadata=computed_from(
            "EXISTS (SELECT 1 FROM app_members m WHERE m.instance_id = app_instances.id AND m.operation_id IS NOT NULL)"
        )
    )
    # Its live operation is a rotation of secrets that no controller has claimed (secret_rotation.PARAMETER).
    rotation_waits: bool = field(
        metadata=computed_from(
            "EXISTS (SELECT 1 FROM app_operations o WHERE o.id = app_instances.operation_id AND o.status = 'pending'"
            " AND o.attempt = 0 AND o.parameters @> '{\"rotate_secrets\": true}')"
        )
    )


@dataclass(frozen=True, slots=True)
class ListedInstanceRow(InstanceSummaryRow):
    """A row of the list. It says whether there are versions to roll back to, without their manifests."""

    has_previous: bool = computed("previous IS NOT NULL")
    has_attempted: bool = computed("attempted IS NOT NULL")
    reported_runtime_version: str | None = computed(f"left(runtime->>'{RUNTIME_VERSION}', {MAX_RUNTIME_VERSION})")


@dataclass(frozen=True, slots=True)
class InstanceRow(InstanceSummaryRow):
    publisher_project_id: str  # whose artifact the digest is: others may have the same bytes
    previous: VersionDocument | None  # the version before the last upgrade
    attempted: VersionDocument | None  # a version change that is under way, or did not succeed
    manifest: ManifestDocument  # of the version, as it was launched
    inputs: dict[str, Any]
    placement_intent: list[PlacementDocument]  # what is wanted; the members are what there is
    reported: ReportDocument | None
    next_ordinal: int
    runtime: dict[str, object] | None
    access_bundle: dict[str, object] | None
    drift: DriftDocument | None
    projects: list[ProjectDocument] = computed(
        "(SELECT coalesce(jsonb_agg(jsonb_build_object('project_id', p.project_id, 'slug', p.slug,"
        " 'home', p.home) ORDER BY p.home DESC, p.since, p.project_id), '[]') FROM instance_projects p"
        " WHERE p.instance_id = app_instances.id AND p.until IS NULL)"
    )

    @property
    def has_previous(self) -> bool:
        return self.previous is not None

    @property
    def has_attempted(self) -> bool:
        return self.attempted is not None

    @property
    def reported_runtime_version(self) -> str | None:
        """Return what the running app says of itself; None: it has not said."""
        told = (self.runtime or {}).get(RUNTIME_VERSION)
        return told[:MAX_RUNTIME_VERSION] if isinstance(told, str) else None

    def current_version(self) -> VersionDocument:
        return {
            "version_id": self.version_id,
            "version": self.version,
            "runtime_version": self.runtime_version,
            "digest": self.digest,
            "publisher_project_id": self.publisher_project_id,
            "manifest": self.manifest,
        }

    def manifests(self) -> Iterator[ManifestDocument]:
        """Yield the manifests of all versions that may be on the hosts: an upgrade can break off, or leave something behind."""
        yield from (version["manifest"] for version in self.versions())

    def versions(self) -> Iterator[VersionDocument]:
        yield self.current_version()
        yield from (version for version in (self.attempted, self.previous) if version is not None)


class InstanceChanges(TypedDict, total=False):
    """The columns that change after an instance was created."""

    version_id: str
    version: str
    runtime_version: str | None
    digest: str | None
    publisher_project_id: str
    manifest: ManifestDocument
    previous: VersionDocument
    attempted: VersionDocument | None
    placement_intent: list[PlacementDocument]
    status: str
    status_since: datetime
    failure: FailureDocument | None
    health: str
    health_since: datetime
    health_reasons: list[ReasonDocument]
    reported: ReportDocument | None
    reported_at: datetime
    flags: list[ReasonDocument]
    member_counts: dict[str, int]
    bound_capacity_shape: str | None
    next_ordinal: int
    runtime: dict[str, object]
    access_bundle: dict[str, object]
    mode: ModeDocument
    secrets_stale: bool
    secrets_due: list[str]
    secrets_exposed: list[str]
    reconcile_policy: str
    drift: DriftDocument
    operation_id: str | None
    last_operation_id: str
    deployed_at: datetime
    decommissioned_at: datetime


@dataclass(frozen=True, slots=True)
class LastInstanceEnd:
    """Says when an instance that ran from the digest last ended."""

    digest: str
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class NewInstance:
    """A row to insert; the statement derives the status."""

    id: str
    tenant_id: str
    project_id: str
    name: str
    app_id: str
    app_slug: str
    version_id: str
    version: str
    runtime_version: str | None
    digest: str | None
    publisher_project_id: str
    manifest: ManifestDocument
    inputs: dict[str, Any]
    reconcile_policy: str
    health: str
    health_reasons: list[ReasonDocument]
    created_by: str
    correlation_id: str
    now: datetime


@dataclass(frozen=True, slots=True)
class MemberRow:
    id: str
    tenant_id: str
    project_id: str
    instance_id: str
    ordinal: int
    component_key: str
    allocation_id: str
    place_project_id: str | None  # whose allocation it is, where that is not the instance's own project's
    node_id: str
    status: str
    status_since: datetime
    operation_id: str | None  # the live one that works on it
    last_operation_id: str | None
    correlation_id: str
    created_at: datetime
    shape: str | None = None  # of its allocation; None: added by a version that did not keep it
    failure: FailureDocument | None = None
    adapter_detail: dict[str, object] | None = None
    host_gone: bool = False
    leaving: bool = False
    verified: bool | None = None
    ready_at: datetime | None = None
    removed_at: datetime | None = None
    generation: int = 1
    watch: WatchDocument | None = None
    probe_report: ProbeReportDocument | None = None
    host_lost_since: datetime | None = field(
        default=None,
        metadata=computed_from("(SELECT n.lost_since FROM nodes n WHERE n.id = app_members.node_id)"),
    )
    host_reported_at: datetime | None = field(
        default=None,
        metadata=computed_from(
            "(SELECT h.created_at FROM host_reports h WHERE h.allocation_id = app_members.allocation_id"
            " AND h.cleared_at IS NULL)"
        ),
    )

    @property
    def probes(self) -> list[ProbeDocument]:
        """The probes that its host runs now."""
        return [] if self.watch is None else self.watch["probes"]

    @property
    def probe_states(self) -> dict[str, ProbeStateDocument]:
        """Return what its host says of the probes that it runs now; empty until the first report."""
        report = self.probe_report
        if self.watch is None or report is None or report["generation"] != self.watch["generation"]:
            return {}
        return report["states"]

    def placement(self) -> PlacementDocument:
        return {"component_key": self.component_key, "allocation_id": self.allocation_id}


class MemberChanges(TypedDict, total=False):
    """The columns that change after a member was added."""

    status: str
    status_since: datetime
    failure: FailureDocument | None
    adapter_detail: dict[str, object] | None
    operation_id: str | None
    last_operation_id: str | None
    correlation_id: str
    host_gone: bool
    leaving: bool
    verified: bool | None
    ready_at: datetime | None
    removed_at: datetime | None
    watch: WatchDocument  # what hosts report of it is written elsewhere (probe_queries.py)


@dataclass(frozen=True, slots=True)
class ServedProjectRow:
    project_id: str
    slug: str
    home: bool
    since: datetime
    added_by: str

    def document(self) -> ProjectDocument:
        return {"project_id": self.project_id, "slug": self.slug, "home": self.home}


@dataclass(frozen=True, slots=True)
class NewServedProject(ServedProjectRow):
    """A served project to insert. Its readers know the tenant and the instance already."""

    tenant_id: str
    instance_id: str


@dataclass(frozen=True, slots=True)
class TimelineEventRow:
    id: str
    at: datetime
    type: str
    subject: str
    actor: str
    correlation_id: str
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class NewTimelineEvent(TimelineEventRow):
    """An event to insert. Its readers know the tenant and the instance already."""

    tenant_id: str
    instance_id: str


@dataclass(frozen=True, slots=True)
class BusyAllocation:
    """An allocation that an instance lives on, and the instance's name."""

    allocation_id: str
    instance_id: str
    name: str


@dataclass(frozen=True, slots=True)
class InstanceOfTenant:
    id: str
    tenant_id: str
