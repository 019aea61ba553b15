"""The rows of allocations: each class has the columns of one table, or of one question to the database."""

from datetime import datetime
from typing import NotRequired, TypedDict

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import FailureDocument
from gpuaas_server.kernel.rows import computed
from gpuaas_server.kernel.wipe_grades import WipeGrade


class AllocationFailure(FailureDocument):
    """Says why a step failed, as it is stored, and names the host task that failed, where one did."""

    phase: NotRequired[str | None]


class RequirementsDocument(TypedDict):
    """Says what the proof of a wipe has to show, as it is stored when the release begins, and when a wipe is sent."""

    grade: WipeGrade
    accept_not_examined: list[str]
    boot_id: str | None
    former_boot_ids: NotRequired[list[str] | None]
    wipe_id: NotRequired[str]


@dataclass(frozen=True, slots=True)
class NewAllocation:
    """The columns that a creation writes; the others have defaults, and belong to AllocationRow."""

    id: str
    node_id: str
    name: str | None
    tenant_id: str
    project_id: str
    batch_id: str | None
    sku_id: str
    sku_name: str
    shape: str
    gpu_model: str
    gpu_count: int
    state: str
    state_since: datetime
    created_by: str
    correlation_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AllocationRow(NewAllocation):
    """An allocation `a`, with what the state of its host says about it.

    That is read by primary keys in the same statement: the host is `n`, its live maintenance window `m`, the open report
    about the allocation's host `r`.
    """

    deadline_at: datetime | None
    failure: AllocationFailure | None
    phase: str | None
    attempt: int
    host_generation: int
    access_wanted: int
    access_sent: int
    ssh_address: str | None
    ssh_port: int | None
    ssh_user: str | None
    baseline_sha256: str | None
    release_key_generation: int | None
    wipe_requirements: RequirementsDocument | None
    wipe_evidence: dict[str, object] | None
    forced: dict[str, object] | None
    active_at: datetime | None
    ended_at: datetime | None
    generation: int
    counted: bool
    unproven: bool
    release_by: datetime | None
    release_reason: str | None
    host_lost_since: datetime | None = computed("n.lost_since")
    host_cordoned: bool | None = computed("n.cordoned")
    host_draining: bool | None = computed("n.draining")
    host_drain_at: datetime | None = computed("n.drain_at")
    host_cordoned_since: datetime | None = computed("n.maintenance_since")
    host_cordon_reason: str | None = computed("n.maintenance_reason")
    report_id: str | None = computed("r.id")
    reported_at: datetime | None = computed("r.created_at")
    window_state: str | None = computed("m.state")
    window_starts_at: datetime | None = computed("m.starts_at")
    window_ends_at: datetime | None = computed("m.ends_at")
    window_reason: str | None = computed("m.reason")
    window_cordoned_at: datetime | None = computed("m.cordoned_at")


@dataclass(frozen=True, slots=True)
class LockedAllocation(AllocationRow):
    """An allocation that the reconciler has locked, with the facts of its node that it compares reports with."""

    node_addresses: list[str] = computed("ARRAY(SELECT x.address FROM node_addresses x WHERE x.node_id = a.node_id)")
    node_key_generation: int | None = computed("n.key_generation")


class AllocationChanges(TypedDict, total=False):
    """The columns that a step or a verb may change."""

    state: str
    state_since: datetime
    deadline_at: datetime | None
    failure: AllocationFailure | None
    phase: str | None
    attempt: int
    host_generation: int
    access_sent: int
    ssh_address: str | None
    ssh_port: int | None
    ssh_user: str | None
    baseline_sha256: str | None
    release_key_generation: int | None
    wipe_requirements: RequirementsDocument | None
    wipe_evidence: dict[str, object] | None
    forced: dict[str, object] | None
    active_at: datetime | None
    ended_at: datetime | None
    counted: bool
    unproven: bool
    release_by: datetime | None
    release_reason: str | None


@dataclass(frozen=True, slots=True)
class TransitionRow:
    allocation_id: str
    generation: int
    tenant_id: str
    at: datetime
    state: str
    actor: str
    phase: str | None = None
    failure: AllocationFailure | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class UnendedAllocation:
    """An allocation that has not ended, as events about its host name it."""

    id: str
    tenant_id: str
    project_id: str
    node_id: str
    sku_name: str
    gpu_count: int
    state: str


@dataclass(frozen=True, slots=True)
class AllocationFacts:
    """Tells apps what they need to know of an allocation before a member is placed on it."""

    id: str
    name: str | None
    state: str
    shape: str
    gpu_model: str
    gpu_count: int
    node_id: str
    tenant_id: str
    project_id: str


@dataclass(frozen=True, slots=True)
class AllocationHost:
    """Tells where an allocation is, and what its host looked like before the tenant came."""

    id: str
    tenant_id: str
    project_id: str
    node_id: str
    shape: str
    state: str
    baseline_sha256: str | None


@dataclass(frozen=True, slots=True)
class WipePolicy:
    """Holds what the SKU and the tenant ask of the wipe now, and what is on record of the host."""

    sku_grade: WipeGrade
    tenant_grade: WipeGrade
    accept_not_examined: list[str]
    boot_id: str | None


@dataclass(frozen=True, slots=True)
class HostReportRow:
    id: str
    tenant_id: str
    project_id: str
    allocation_id: str
    node_id: str
    reason: str
    reported_by: str
    created_at: datetime
    cleared_at: datetime | None = None
    cleared_by: str | None = None
    cleared_reason: str | None = None
