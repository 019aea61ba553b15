"""What the platform answers, and what it is asked for. Written by tools/sdk-client; change the contract instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.reader import Resource
from gpuaas_sdk.traits import AllocationTraits, OperationTraits

__all__ = [
    "AccessCredential",
    "Allocation",
    "App",
    "AppVersion",
    "AppVersionDetail",
    "Artifact",
    "AuditRecord",
    "CatalogApp",
    "CatalogEntry",
    "CatalogVersion",
    "ClaimedOperation",
    "ControllerAllocation",
    "ControllerInstance",
    "ControllerMember",
    "ControllerVersion",
    "CredentialDelivery",
    "EnrolmentToken",
    "EnrolmentTokenCreated",
    "Entitlement",
    "Event",
    "EventPage",
    "Evidence",
    "FailureReason",
    "FailureReport",
    "HealthAccepted",
    "HealthReason",
    "Instance",
    "InstanceMember",
    "InstanceStarted",
    "InstanceSummary",
    "InstanceTimeline",
    "InstanceVersion",
    "IssuedSshCertificate",
    "LeaseRenewed",
    "MachineAccess",
    "Maintenance",
    "Me",
    "Member",
    "MemberHealth",
    "MemberReport",
    "NewAllocation",
    "NewCredentialDelivery",
    "NewInstance",
    "NewMemberOperation",
    "NewServiceAccount",
    "NewServiceAccountKey",
    "NewSku",
    "NewSshGrant",
    "Node",
    "Operation",
    "OperationFailure",
    "OperationForced",
    "OperationProgress",
    "OperationStep",
    "Placement",
    "PlacementIntent",
    "PlatformKey",
    "ProgressReport",
    "Project",
    "PublishFailure",
    "PublishIntent",
    "Quota",
    "ReasonReport",
    "Receipt",
    "ReceiptCheck",
    "ReceiptFinding",
    "ReceiptForce",
    "ReceiptLine",
    "ReceiptProblem",
    "RegistryPlace",
    "RegistryToken",
    "ReplaceTarget",
    "RevokedSshCertificates",
    "RoleHeld",
    "RuntimeSecret",
    "SealedBox",
    "SecretKey",
    "ServiceAccount",
    "ServiceAccountKey",
    "SigningKey",
    "Sku",
    "Slot",
    "SlotCounts",
    "SshCa",
    "SshCertificate",
    "SshGrant",
    "SshKey",
    "SshTarget",
    "SshWayIn",
    "StepReport",
    "Task",
    "Tenant",
    "Timeline",
    "TimelineEntry",
    "TimelineEvent",
    "TrustKey",
    "TrustPolicy",
    "UnreachableAllocation",
    "UploadTicket",
    "UploadedContent",
    "User",
    "UserWithPassword",
    "WorkItem",
]


@dataclass(frozen=True, kw_only=True)
class AccessCredential(Resource):
    id: str
    project_id: str = ""
    name: str = ""
    kind: str = ""
    # Counts the keys of an ssh_key: each rotation makes the next.
    version: int = 0
    # Of an ssh_key: what is on the allocations.
    public_key: str | None = None
    fingerprint: str | None = None
    created_by: str = ""
    created_at: datetime | None = None
    rotated_at: datetime | None = None
    revoked_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Allocation(Resource, AllocationTraits):
    id: str
    project_id: str = ""
    # Allocations of one request share it.
    batch_id: str | None = None
    name: str | None = None
    sku_id: str = ""
    sku_name: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str = ""
    state: str = ""
    state_since: datetime | None = None
    # When the step in flight counts as failed.
    deadline_at: datetime | None = None
    # The release waits for what runs on it to stop, until then at the latest.
    release_by: datetime | None = None
    # The host task in flight.
    phase: str | None = None
    failure: FailureReason | None = None
    ssh: SshWayIn | None = None
    # Null until released; false for ever after a forced clean-up.
    wipe_verified: bool | None = None
    created_by: str = ""
    correlation_id: str = ""
    created_at: datetime | None = None
    active_at: datetime | None = None
    ended_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class App(Resource):
    id: str
    tenant_id: str = ""
    # Where it is published from.
    project_id: str = ""
    slug: str = ""
    display_name: str = ""
    description: str = ""
    category: str | None = None
    keywords: list[str] = field(default_factory=list)
    # private: its tenant's; entitled: of tenants with an entitlement too; public.
    visibility: str = ""
    created_by: str = ""
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AppVersion(Resource):
    id: str
    app_id: str = ""
    project_id: str = ""
    slug: str = ""
    version: str = ""
    runtime_version: str = ""
    artifact_kind: str = ""
    artifact_digest: str = ""
    # Of the manifest's content, however it is written.
    content_digest: str = ""
    status: str = ""
    # Why it is deprecated, and what to do.
    notice: str | None = None
    retire_at: datetime | None = None
    created_by: str = ""
    created_at: datetime | None = None
    activated_at: datetime | None = None
    deprecated_at: datetime | None = None
    retired_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AppVersionDetail(AppVersion):
    manifest: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Artifact(Resource):
    id: str
    project_id: str = ""
    kind: str = ""
    name: str = ""
    digest: str = ""
    size_bytes: int = 0
    media_type: str = ""
    # Of an image: what to pull, by digest.
    reference: str | None = None
    stage: str = ""
    stage_since: datetime | None = None
    # Which share of the projects a canary is for; 0 in other stages.
    canary_percent: int = 0
    trust: str = ""
    trust_detail: str = ""
    # Fingerprints of the tenant's trust keys whose signature is good.
    signed_by: list[str] = field(default_factory=list)
    # Whether bytes and signatures are being checked now.
    checking: bool = False
    checked_at: datetime | None = None
    created_by: str = ""
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AuditRecord(Resource):
    id: str
    at: datetime | None = None
    tenant_id: str | None = None
    project_id: str | None = None
    actor_id: str = ""
    actor_kind: str = ""
    actor_name: str = ""
    address: str = ""
    action: str = ""
    outcome: str = ""
    resource_id: str | None = None
    reason: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    correlation_id: str = ""


@dataclass(frozen=True, kw_only=True)
class CatalogApp(Resource):
    """An app as those see it who may launch it."""

    id: str
    slug: str = ""
    display_name: str = ""
    description: str = ""
    category: str | None = None
    keywords: list[str] = field(default_factory=list)
    # Whether your own tenant publishes it.
    own: bool = False
    # The newest active version: what a launch takes that names none.
    latest: str | None = None
    # Active and deprecated ones, newest first.
    versions: list[CatalogVersion] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CatalogEntry(CatalogApp):
    # The version that the manifest is of.
    shown: CatalogVersion
    # Components, compatibility, inputs, footprint and the rest.
    manifest: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CatalogVersion(Resource):
    id: str
    version: str = ""
    runtime_version: str = ""
    status: str = ""
    notice: str | None = None
    retire_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimedOperation(Resource):
    """The lease, and the whole context: nothing else has to be asked for before the work begins."""

    operation: Operation
    # Proves that the work is yours; send it with every report.
    lease_token: str = field(repr=False, default="")
    lease_until: datetime | None = None
    instance: ControllerInstance
    # Of upgrade and rollback.
    target_version: ControllerVersion | None = None
    members: list[ControllerMember] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ControllerAllocation(Resource):
    """What a controller may know of the machine below a member. The way in is asked for with machine-access."""

    id: str
    name: str | None = None
    state: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str = ""


@dataclass(frozen=True, kw_only=True)
class ControllerInstance(Resource):
    id: str
    name: str = ""
    app_slug: str = ""
    status: str = ""
    generation: int = 0
    version: ControllerVersion
    inputs: Mapping[str, object] = field(default_factory=dict)
    placement_intent: list[Mapping[str, str]] = field(default_factory=list)
    runtime: Mapping[str, object] | None = None
    access_bundle: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class ControllerMember(Resource):
    id: str
    component_key: str = ""
    ordinal: int = 0
    status: str = ""
    allocation: ControllerAllocation | None = None
    adapter_detail: Mapping[str, object] | None = None
    # Its allocation has ended: there is no machine to work on.
    host_gone: bool = False
    # Whether the operation works on it.
    concerned: bool = False


@dataclass(frozen=True, kw_only=True)
class ControllerVersion(Resource):
    version: str = ""
    runtime_version: str | None = None
    digest: str | None = None
    manifest: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CredentialDelivery(Resource):
    """A line of the delivery log: who got which version, and for which key it was sealed or signed."""

    id: str
    credential_id: str = ""
    version: int = 0
    delivered_to: str = ""
    recipient_fingerprint: str = ""
    allocation_id: str | None = None
    serial: int | None = None
    correlation_id: str = ""
    delivered_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class EnrolmentToken(Resource):
    id: str
    note: str | None = None
    max_uses: int = 0
    uses: int = 0
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    created_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class EnrolmentTokenCreated(Resource):
    id: str
    # Shown once. Give it to the agent of the new host.
    bundle: str = field(repr=False, default="")
    expires_at: datetime | None = None
    max_uses: int = 0


@dataclass(frozen=True, kw_only=True)
class Entitlement(Resource):
    id: str
    tenant_id: str = ""
    app_id: str = ""
    slug: str = ""
    display_name: str = ""
    granted_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Event(Resource):
    id: str
    type: str = ""
    # The id of what it is about.
    subject: str = ""
    time: datetime | None = None
    # The place in the log: send as `after` (or Last-Event-ID) to go on from here.
    cursor: str = ""
    tenant_id: str | None = None
    project_id: str | None = None
    correlation_id: str = ""
    data: Mapping[str, object] = field(default_factory=dict)
    source: str = ""
    specversion: str = ""


@dataclass(frozen=True, kw_only=True)
class EventPage(Resource):
    items: list[Event] = field(default_factory=list)
    # Send as `after`, with `wait`, to go on.
    next_cursor: str = ""


@dataclass(frozen=True, kw_only=True)
class Evidence(Resource):
    id: str
    artifact_id: str = ""
    kind: str = ""
    passed: bool = False
    tool: str = ""
    summary: str = ""
    submitted_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class FailureReason(Resource):
    code: str = ""
    message: str = ""
    next_step: str = ""
    retryable: bool = False
    phase: str | None = None


@dataclass(frozen=True, kw_only=True)
class HealthAccepted(Resource):
    instance_id: str = ""
    status: str = ""
    health: str = ""
    health_reasons: list[HealthReason] = field(default_factory=list)
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class HealthReason(Resource):
    code: str = ""
    message: str = ""
    component_key: str | None = None
    member_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceSummary(Resource):
    id: str
    project_id: str = ""
    name: str = ""
    app_id: str = ""
    app_slug: str = ""
    version: str = ""
    # The runtime's own version, which is not the app's.
    runtime_version: str | None = None
    digest: str | None = None
    status: str = ""
    status_since: datetime | None = None
    health: str = ""
    health_since: datetime | None = None
    health_reasons: list[HealthReason] = field(default_factory=list)
    failure: OperationFailure | None = None
    member_counts: Mapping[str, int] = field(default_factory=dict)
    # The live operation on the whole instance.
    operation_id: str | None = None
    last_operation_id: str | None = None
    created_by: str = ""
    correlation_id: str = ""
    created_at: datetime | None = None
    deployed_at: datetime | None = None
    decommissioned_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Instance(InstanceSummary):
    inputs: Mapping[str, object] = field(default_factory=dict)
    placement_intent: list[PlacementIntent] = field(default_factory=list)
    runtime: Mapping[str, object] | None = None
    access_bundle: Mapping[str, object] | None = None
    # What `rollback` goes back to.
    previous_version: InstanceVersion | None = None
    # An upgrade or rollback that did not succeed.
    attempted_version: InstanceVersion | None = None
    # Warnings of the platform, such as a revoked artifact.
    flags: list[HealthReason] = field(default_factory=list)
    health_reported_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceMember(Resource):
    id: str
    instance_id: str = ""
    component_key: str = ""
    ordinal: int = 0
    allocation_id: str = ""
    node_id: str = ""
    status: str = ""
    status_since: datetime | None = None
    failure: OperationFailure | None = None
    adapter_detail: Mapping[str, object] | None = None
    # The live operation that works on it.
    operation_id: str | None = None
    last_operation_id: str | None = None
    correlation_id: str = ""
    # Whether its last teardown was proven; null when there was none.
    verified: bool | None = None
    created_at: datetime | None = None
    ready_at: datetime | None = None
    removed_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class InstanceStarted(Resource):
    """The instance, and the operation to follow."""

    instance: Instance
    operation: Operation


@dataclass(frozen=True, kw_only=True)
class InstanceTimeline(Resource):
    instance_id: str = ""
    items: list[TimelineEvent] = field(default_factory=list)
    # Send as `after`, with `wait`, to go on.
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceVersion(Resource):
    version: str = ""
    digest: str | None = None
    runtime_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class IssuedSshCertificate(Resource):
    # As sshd logs it.
    serial: int = 0
    # The user or service account.
    issued_to: str = ""
    fingerprint: str = ""
    valid_before: datetime | None = None
    revoked_at: datetime | None = None
    created_at: datetime | None = None
    # The credential that it was issued through.
    access_credential_id: str | None = None
    # The operation that it was issued for, and ends with.
    operation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class LeaseRenewed(Resource):
    operation_id: str = ""
    status: str = ""
    lease_until: datetime | None = None
    # Somebody wants it to end: stop at the next safe place, and fail it.
    cancel_requested: bool = False


@dataclass(frozen=True, kw_only=True)
class MachineAccess(Resource):
    """Certificates of one operation. They end with it, whatever `valid_before` says."""

    operation_id: str = ""
    valid_before: datetime | None = None
    # One for each allocation; its principal is the allocation.
    certificates: list[SshCertificate] = field(default_factory=list)
    # Allocations of the operation that are not active.
    unreachable: list[UnreachableAllocation] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Maintenance(Resource):
    reason: str = ""
    since: datetime | None = None
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Me(Resource):
    id: str
    kind: str = ""
    name: str = ""
    email: str | None = None
    tenant_id: str | None = None
    roles: list[RoleHeld] = field(default_factory=list)
    scopes: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Member(Resource):
    # The user's id.
    id: str
    email: str = ""
    name: str = ""
    disabled: bool = False
    role: str = ""
    created_at: datetime | None = None
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class NewCredentialDelivery(CredentialDelivery):
    # Of an ssh_key: the private key, an OpenSSH file.
    sealed_private_key: SealedBox | None = None
    # Of an ssh_certificate.
    certificate: SshCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceAccount(Resource):
    id: str
    tenant_id: str = ""
    project_id: str = ""
    name: str = ""
    scopes: list[str] = field(default_factory=list)
    app_slugs: list[str] = field(default_factory=list)
    disabled: bool = False
    expires_at: datetime | None = None
    created_by: str = ""
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class NewServiceAccount(ServiceAccount):
    key: NewServiceAccountKey


@dataclass(frozen=True, kw_only=True)
class ServiceAccountKey(Resource):
    id: str
    created_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NewServiceAccountKey(ServiceAccountKey):
    # Shown once; only its digest is kept.
    secret: str = field(repr=False, default="")


@dataclass(frozen=True, kw_only=True)
class Node(Resource):
    id: str
    name: str = ""
    hostname: str = ""
    address: str = ""
    status: str = ""
    # Alive, approved and not cordoned: new allocations may land here.
    schedulable: bool = False
    cordoned: bool = False
    draining: bool = False
    # Draining, and nothing is claimed any more.
    drained: bool = False
    maintenance: Maintenance | None = None
    agent_version: str = ""
    last_seen_at: datetime | None = None
    lost_since: datetime | None = None
    retired_at: datetime | None = None
    boot_id: str | None = None
    slots: SlotCounts
    # What the agent last reported: host, warnings.
    inventory: Mapping[str, object] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    allowed_actions: list[str] = field(default_factory=list)
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Operation(Resource, OperationTraits):
    id: str
    project_id: str = ""
    instance_id: str = ""
    app_slug: str = ""
    kind: str = ""
    target: str = ""
    member_id: str | None = None
    # Of `replace`: the member that takes the place.
    new_member_id: str | None = None
    # The bulk operation that it belongs to.
    parent_id: str | None = None
    on_failure: str | None = None
    status: str = ""
    status_since: datetime | None = None
    # `verifying`: the controller is done, the hosts are being looked at.
    phase: str | None = None
    # What was asked for beyond the kind, such as a version.
    parameters: Mapping[str, object] = field(default_factory=dict)
    steps: list[OperationStep] = field(default_factory=list)
    progress: OperationProgress | None = None
    failure: OperationFailure | None = None
    forced: OperationForced | None = None
    # Of a bulk operation: how many are in which status.
    children: Mapping[str, int] | None = None
    reason: str | None = None
    requested_by: str = ""
    requested_by_name: str = ""
    correlation_id: str = ""
    # How often it was claimed.
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


@dataclass(frozen=True, kw_only=True)
class OperationFailure(Resource):
    code: str = ""
    message: str = ""
    next_step: str = ""
    retryable: bool = False


@dataclass(frozen=True, kw_only=True)
class OperationForced(Resource):
    """Somebody took responsibility; what was not verified then stays not verified."""

    by: str = ""
    at: datetime | None = None
    reason: str = ""
    verified: bool = False


@dataclass(frozen=True, kw_only=True)
class OperationProgress(Resource):
    message: str | None = None
    percent: int | None = None


@dataclass(frozen=True, kw_only=True)
class OperationStep(Resource):
    name: str = ""
    status: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    member_id: str | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlacementIntent(Resource):
    component_key: str = ""
    allocation_id: str = ""


@dataclass(frozen=True, kw_only=True)
class PlatformKey(Resource):
    id: str
    kind: str = ""
    # As an OpenSSH line.
    public_key: str = ""
    # PEM; of the TLS CA, and of the key that the registry trusts.
    certificate: str | None = None
    # Published before it signs, so that everybody knows it by then.
    signs_from: datetime | None = None
    created_at: datetime | None = None
    # Since when nothing that it signed is trusted.
    retired_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Project(Resource):
    id: str
    tenant_id: str = ""
    slug: str = ""
    name: str = ""
    disabled: bool = False
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PublishFailure(Resource):
    code: str = ""
    message: str = ""
    next_step: str = ""
    retryable: bool = False


@dataclass(frozen=True, kw_only=True)
class PublishIntent(Resource):
    id: str
    project_id: str = ""
    kind: str = ""
    name: str = ""
    media_type: str = ""
    size_bytes: int | None = None
    digest: str | None = None
    state: str = ""
    # When it ends by itself; null once it has ended.
    deadline_at: datetime | None = None
    # For an open intent of a blob.
    upload: UploadTicket | None = None
    # For an open intent of an image.
    push: RegistryPlace | None = None
    failure: PublishFailure | None = None
    artifact_id: str | None = None
    created_by: str = ""
    created_at: datetime | None = None
    ended_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Quota(Resource):
    scope_id: str = ""
    # Null: no limit.
    gpu_limit: int | None = None
    gpus_used: int = 0
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class ReceiptLine(Resource):
    id: str
    project_id: str = ""
    instance_id: str = ""
    operation_id: str = ""
    member_id: str = ""
    allocation_id: str = ""
    node_id: str = ""
    # `stopped`: nothing runs. `gone`: nothing is left at all.
    depth: str = ""
    status: str = ""
    # Null while pending; false for ever when it was forced.
    verified: bool | None = None
    # Why it is not clean.
    failure: ReceiptProblem | None = None
    # How many leftovers were found.
    left: int = 0
    correlation_id: str = ""
    created_at: datetime | None = None
    settled_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Receipt(ReceiptLine):
    """A teardown receipt: each check with its verdict and evidence. Kept after the instance is gone."""

    checks: list[ReceiptCheck] = field(default_factory=list)
    footprint: Mapping[str, list[str]] = field(default_factory=dict)
    # Of the host's baseline that it was compared with, on bare metal.
    baseline_sha256: str | None = None
    forced: ReceiptForce | None = None


@dataclass(frozen=True, kw_only=True)
class ReceiptCheck(Resource):
    name: str = ""
    # `not_seen`: the host could not look.
    verdict: str = ""
    looked_for: list[str] = field(default_factory=list)
    # Leftovers first; a long list is cut.
    found: list[ReceiptFinding] = field(default_factory=list)
    # How many leftovers there are in all.
    left: int = 0
    # New since the allocation became active, and named by no footprint.
    noted: list[str] = field(default_factory=list)
    examined: int = 0
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiptFinding(Resource):
    # What is there.
    item: str = ""
    # The entry of the footprint, or the rule, that names it.
    why: str = ""
    # It was there before the tenant came, so it is nobody's leftover.
    known: bool = False


@dataclass(frozen=True, kw_only=True)
class ReceiptForce(Resource):
    by: str = ""
    at: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiptProblem(Resource):
    code: str = ""
    message: str = ""
    next_step: str = ""


@dataclass(frozen=True, kw_only=True)
class RegistryPlace(Resource):
    """Push here with any OCI client: `<registry>/<repository>:<any tag>`."""

    registry: str = ""
    repository: str = ""


@dataclass(frozen=True, kw_only=True)
class RegistryToken(Resource):
    """As the registry token protocol names its fields."""

    token: str = field(repr=False, default="")
    access_token: str = field(repr=False, default="")
    expires_in: int = 0
    issued_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class RevokedSshCertificates(Resource):
    # Serials that opened the door until now; the host is told at once.
    revoked: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class RoleHeld(Resource):
    role: str = ""
    tenant_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class RuntimeSecret(Resource):
    """Sealed is a JSON object: `username` and `password`, and either `registry` with `reference`, or `url`."""

    id: str
    purpose: str = ""
    digest: str = ""
    kind: str = ""
    expires_at: datetime | None = None
    # How it is sealed; see docs/reference/sealed-delivery.md.
    format: str = ""
    # With `runtime-secret:<id>` as info.
    sealed: str = field(repr=False, default="")


@dataclass(frozen=True, kw_only=True)
class SealedBox(Resource):
    """HPKE (RFC 9180) in base mode; see docs/reference/sealed-delivery.md."""

    format: str = ""
    # What the box is about; opening it needs exactly this text.
    info: str = ""
    # Encapsulated key (32 bytes) and ciphertext, base64.
    box: str = ""


@dataclass(frozen=True, kw_only=True)
class SecretKey(Resource):
    """A key that wraps the data keys of secrets. It is never shown, only counted."""

    id: str
    # builtin (sealed under the master key) or openbao (its transit engine).
    backend: str = ""
    version: int = 0
    # How many values are still under it.
    protects: int = 0
    created_at: datetime | None = None
    # Since when it is destroyed: everything is under a newer one.
    retired_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SigningKey(Resource):
    id: str
    created_at: datetime | None = None
    # Null: this key signs.
    verifies_until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Sku(Resource):
    id: str
    name: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_counts: list[int] = field(default_factory=list)
    # In minor units of the currency.
    price_per_gpu_hour_minor: int = 0
    currency: str = ""
    offered: bool = False
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Slot(Resource):
    id: str
    node_id: str = ""
    slot_index: int = 0
    # discovered, available, claimed, cleaning, cleanup_blocked or disabled.
    status: str = ""
    status_reason: str | None = None
    capacity_shape: str = ""
    gpu_model: str = ""
    gpu_uuid: str | None = None
    memory_mib: int | None = None
    pci_address: str = ""
    numa_node: int | None = None
    nvlink_group: str | None = None
    nvme_device: str | None = None
    iommu_group: int | None = None
    vf: Mapping[str, object] | None = None
    # Whether the last inventory had it.
    present: bool = False
    approved_at: datetime | None = None
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SlotCounts(Resource):
    available: int = 0
    claimed: int = 0
    cleaning: int = 0
    cleanup_blocked: int = 0
    disabled: int = 0
    discovered: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True)
class SshCa(Resource):
    # Hosts trust these for logins.
    user_ca_keys: list[str] = field(default_factory=list)
    # Clients trust these for host keys.
    host_ca_keys: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SshCertificate(Resource):
    # Write it beside your private key as <key>-cert.pub.
    certificate: str = ""
    valid_before: datetime | None = None
    serial: int = 0
    principal: str = ""
    ssh: SshTarget
    host_ca_keys: list[str] = field(default_factory=list)
    # For known_hosts: trusts the host CA for this address, and for `-o HostKeyAlias=<allocation id>`.
    known_hosts_line: str = ""


@dataclass(frozen=True, kw_only=True)
class SshGrant(Resource):
    id: str
    allocation_id: str = ""
    # The user or service account, or the credential whose key it is.
    granted_to: str = ""
    public_key: str = ""
    fingerprint: str = ""
    note: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    fingerprint: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshTarget(Resource):
    address: str = ""
    port: int = 0
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class SshWayIn(Resource):
    address: str = ""
    port: int = 0
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class Task(Resource):
    id: str
    node_id: str = ""
    kind: str = ""
    resource_id: str = ""
    generation: int = 0
    status: str = ""
    spec: Mapping[str, object] = field(default_factory=dict)
    phases: list[Mapping[str, object]] = field(default_factory=list)
    result: Mapping[str, object] | None = None
    evidence: Mapping[str, object] | None = None
    failure: Mapping[str, object] | None = None
    deadline: datetime | None = None
    correlation_id: str = ""
    created_at: datetime | None = None
    reported_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Tenant(Resource):
    id: str
    slug: str = ""
    name: str = ""
    disabled: bool = False
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Timeline(Resource):
    allocation_id: str = ""
    items: list[TimelineEntry] = field(default_factory=list)
    # What the wipe verification looked at and found.
    wipe_evidence: Mapping[str, object] | None = None
    forced: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class TimelineEntry(Resource):
    at: datetime | None = None
    kind: str = ""
    # The state entered, or task/phase on the host.
    name: str = ""
    status: str = ""
    actor: str | None = None
    detail: str | None = None
    failure: FailureReason | None = None
    finished_at: datetime | None = None
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class TimelineEvent(Resource):
    # Its place: send as `after` to go on from here.
    id: str
    at: datetime | None = None
    type: str = ""
    # The id of what it is about.
    subject: str = ""
    actor: str = ""
    correlation_id: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrustKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    fingerprint: str = ""
    algorithm: str = ""
    created_by: str = ""
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrustPolicy(Resource):
    tenant_id: str = ""
    require_signature: bool = False
    updated_by: str | None = None
    updated_at: datetime | None = None
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class UnreachableAllocation(Resource):
    allocation_id: str = ""
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class UploadTicket(Resource):
    """Where the bytes go: not through this API, unless the platform keeps blobs in a directory of its own."""

    method: str = ""
    # A path is one of this API, with your access token; else send no token along.
    url: str = ""
    # Whether the request takes your access token.
    authorised: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UploadedContent(Resource):
    """What was received; nothing is published by it yet."""

    digest: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class User(Resource):
    id: str
    tenant_id: str | None = None
    email: str = ""
    name: str = ""
    disabled: bool = False
    roles: list[RoleHeld] = field(default_factory=list)
    last_sign_in_at: datetime | None = None
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class UserWithPassword(User):
    # Shown once, when the platform made the password.
    initial_password: str | None = field(repr=False, default=None)


@dataclass(frozen=True, kw_only=True)
class WorkItem(Resource):
    """An operation that waits for a controller. Claim it before you begin."""

    id: str
    instance_id: str = ""
    app_slug: str = ""
    kind: str = ""
    target: str = ""
    member_id: str | None = None
    attempt: int = 0
    created_at: datetime | None = None
    deadline_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    code: str
    message: str
    next_step: str | None = None
    retryable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberHealth:
    member_id: str
    status: str
    # Opaque, for debugging; at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReport:
    member_id: str
    # Opaque, for debugging; at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    # Why it is degraded or failed.
    message: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    component_key: str
    allocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReport:
    message: str | None = None
    percent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonReport:
    code: str
    message: str
    member_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTarget:
    member_id: str
    allocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """A step by its name. Sending it again changes it; the platform keeps the times."""

    name: str
    status: str
    member_id: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAllocation:
    # Id or name of an offered SKU.
    sku: str
    # How many allocations: all of them or none.
    count: int | None = None
    # GPUs of each allocation; needed when the SKU offers several counts.
    gpu_count: int | None = None
    # With count > 1, -1, -2 … is appended.
    name: str | None = None
    # Stored SSH keys of yours that may log in, for as long as the allocation lives.
    ssh_key_ids: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInstance:
    # The app's slug, from the catalog.
    app: str
    name: str
    # Which component runs on which allocation of this project.
    placement_intent: Sequence[Placement]
    deadline_seconds: int | None = None
    # What the app's `inputs` schema asks for.
    inputs: Mapping[str, object] | None = None
    # Absent: the newest that may be launched.
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemberOperation:
    """One envelope for all member operations, on one target or on many.

    `add` takes `component_key` and `allocation_ids`; `replace` takes `replacements`; the others take `targets`."""

    kind: str
    allocation_ids: Sequence[str] | None = None
    component_key: str | None = None
    deadline_seconds: int | None = None
    # Of many: go on with the others, or begin one after the other and none after the first failure.
    on_failure: str | None = None
    # What the app's `options` schema for this kind of operation takes.
    options: Mapping[str, object] | None = None
    reason: str | None = None
    replacements: Sequence[ReplaceTarget] | None = None
    targets: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSku:
    name: str
    shape: str
    gpu_model: str
    # Offered GPU counts per allocation.
    gpu_counts: Sequence[int]
    price_per_gpu_hour_minor: int
    currency: str | None = None
    offered: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSshGrant:
    """A public key, one of your stored keys, or a credential of the project (of kind ssh_key): one of the three."""

    expires_at: datetime
    access_credential_id: str | None = None
    note: str | None = None
    public_key: str | None = None
    ssh_key_id: str | None = None
