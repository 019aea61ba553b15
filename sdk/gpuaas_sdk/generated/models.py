"""Models of requests and answers. Written by tools/sdk-client; change the contract instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.reader import Resource
from gpuaas_sdk.traits import AllocationTraits, OperationTraits

__all__ = [
    "AccessCredential",
    "Allocation",
    "AllocationHealthReason",
    "App",
    "AppVersion",
    "AppVersionDetail",
    "Artifact",
    "AuditRecord",
    "CandidateComponent",
    "CatalogApp",
    "CatalogEntry",
    "CatalogVersion",
    "ClaimedOperation",
    "ClosedKind",
    "ControllerAllocation",
    "ControllerInstance",
    "ControllerMember",
    "ControllerProject",
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
    "HostGpu",
    "HostReport",
    "Instance",
    "InstanceMember",
    "InstanceProject",
    "InstanceServes",
    "InstanceStarted",
    "InstanceSummary",
    "InstanceTimeline",
    "InstanceVersion",
    "IssuedSshCertificate",
    "LeaseRenewed",
    "MachineAccess",
    "Maintenance",
    "MaintenanceWindow",
    "MappedSlot",
    "Me",
    "Member",
    "MemberHealth",
    "MemberHealthReason",
    "MemberReport",
    "Mode",
    "NewAllocation",
    "NewCredentialDelivery",
    "NewInstance",
    "NewMemberOperation",
    "NewServiceAccount",
    "NewServiceAccountCertificate",
    "NewServiceAccountKey",
    "NewSku",
    "NewSshGrant",
    "Node",
    "NodeSlots",
    "Operation",
    "OperationFailure",
    "OperationForced",
    "OperationProgress",
    "OperationStep",
    "Placement",
    "PlacementCandidate",
    "PlacementIntent",
    "PlacementRefusal",
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
    "RetentionPeriod",
    "RevokedSshCertificates",
    "RoleHeld",
    "RuntimeSecret",
    "SealedBox",
    "SecretKey",
    "ServedProject",
    "ServedProjects",
    "ServiceAccount",
    "ServiceAccountCertificate",
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
    "Terminal",
    "Timeline",
    "TimelineEntry",
    "TimelineEvent",
    "Topology",
    "TrustKey",
    "TrustPolicy",
    "UnconfirmedNodes",
    "UnreachableAllocation",
    "UploadTicket",
    "UploadedContent",
    "UsageRecord",
    "UsageReport",
    "UsageReported",
    "UsageTotal",
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
    # Of an ssh_key: SHA256:…, as ssh-keygen -l shows it.
    fingerprint: str | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    rotated_at: datetime | None = None
    # Since when it opens nothing.
    revoked_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
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
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host.
    shape: str = ""
    gpu_model: str = ""
    # GPUs of this allocation.
    gpu_count: int = 0
    # The host that was chosen when it was asked for.
    node_id: str = ""
    state: str = ""
    state_since: datetime | None = None
    # When the step in flight counts as failed.
    deadline_at: datetime | None = None
    # The release waits for what runs on it to stop, until then at the latest.
    release_by: datetime | None = None
    # The host task in flight.
    phase: str | None = None
    # Why it is failed or release_failed; else null.
    failure: FailureReason | None = None
    # How it is, from its own state and its host's; unhealthy: it can not be used. Null once it has ended.
    health: str | None = None
    # Why it is not healthy, and what is going to happen to its host.
    health_reasons: list[AllocationHealthReason] = field(default_factory=list)
    # The way in, once it is active.
    ssh: SshWayIn | None = None
    # Null until released; false for ever after a forced clean-up.
    wipe_verified: bool | None = None
    # What its wipe has to reach: the higher of the SKU's and the tenant's grade when the release began; null before.
    wipe_grade_required: str | None = None
    # What the proof of its wipe reached: `inspected` (the host looked at itself), `rebooted` (after a restart into what the platform expects). Null: nothing is proven.
    wipe_grade: str | None = None
    # Checks of the wipe that did not look.
    wipe_not_examined: list[str] = field(default_factory=list)
    # Id of the user or service account.
    created_by: str = ""
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # Since when it could be used; null if it never could.
    active_at: datetime | None = None
    # When it was released or had failed; nothing is claimed from then on.
    ended_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AllocationHealthReason(Resource):
    # Stable, for programs: host_lost, host_draining, host_cordoned and so on.
    code: str = ""
    # For a person.
    message: str = ""
    # Since when it is so, or from when it will be.
    since: datetime | None = None
    # What a person should do.
    next_step: str = ""
    # What makes sense now; `replace` is a release, and an allocation of the same SKU elsewhere.
    choices: list[str] = field(default_factory=list)
    # Until when it is to last, where that is known.
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class App(Resource):
    id: str
    # Whose app it is.
    tenant_id: str = ""
    # Where it is published from.
    project_id: str = ""
    # Its name on the platform, which no other app has.
    slug: str = ""
    display_name: str = ""
    description: str = ""
    # From the manifest's `ui`, for browsing.
    category: str | None = None
    # From the manifest's `ui`, for searching.
    keywords: list[str] = field(default_factory=list)
    # private: its tenant's; entitled: of tenants with an entitlement too; public.
    visibility: str = ""
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AppVersion(Resource):
    id: str
    app_id: str = ""
    project_id: str = ""
    # Of the app.
    slug: str = ""
    version: str = ""
    # The runtime's own version, which is not the app's.
    runtime_version: str = ""
    # How it is run: oci, launchable or controller.
    artifact_kind: str = ""
    # The bytes that it runs.
    artifact_digest: str = ""
    # Of the manifest's content, however it is written.
    content_digest: str = ""
    status: str = ""
    # Why it is deprecated, and what to do.
    notice: str | None = None
    # It is not retired before.
    retire_at: datetime | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    activated_at: datetime | None = None
    deprecated_at: datetime | None = None
    retired_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AppVersionDetail(AppVersion):
    # As it was registered; see app-manifest.schema.json.
    manifest: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Artifact(Resource):
    id: str
    project_id: str = ""
    kind: str = ""
    name: str = ""
    # sha256:… of the blob, or of the image's manifest.
    digest: str = ""
    size_bytes: int = 0
    # As announced by the publisher.
    media_type: str = ""
    # Of an image: what to pull, by digest.
    reference: str | None = None
    # How far it has come; only an active one, or a canary, is launched.
    stage: str = ""
    stage_since: datetime | None = None
    # Which share of the projects a canary is for; 0 in other stages.
    canary_percent: int = 0
    # What the checks of bytes and signatures said; `revoked` is for ever.
    trust: str = ""
    # Why it is trusted or not, for a person.
    trust_detail: str = ""
    # Fingerprints of the tenant's trust keys whose signature is good.
    signed_by: list[str] = field(default_factory=list)
    # Whether bytes and signatures are being checked now.
    checking: bool = False
    # Whether its bytes are being removed; then it is gone.
    deleting: bool = False
    # When bytes and signatures were checked last.
    checked_at: datetime | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AuditRecord(Resource):
    id: str
    at: datetime | None = None
    # Where it happened; null: on the platform.
    tenant_id: str | None = None
    # Where it happened; null: not in one project.
    project_id: str | None = None
    # Id of the user, service account, node or part of the platform.
    actor_id: str = ""
    # What the actor is, such as user or service_account.
    actor_kind: str = ""
    # As it was called then.
    actor_name: str = ""
    # Where the request came from.
    address: str = ""
    # What was done: the operationId, or the name of a step of the platform's own.
    action: str = ""
    # done, denied, or failed: accepted, and did not succeed.
    outcome: str = ""
    # What it was done to.
    resource_id: str | None = None
    # What the actor said.
    reason: str | None = None
    # What changed, by action; never a secret.
    details: Mapping[str, object] = field(default_factory=dict)
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # What the client called itself, bounded and escaped.
    user_agent: str = ""
    # How the request came: api, console, cli, controller, agent; system: the platform's own. Empty: from before it was recorded. cli and controller are what the client declared.
    source: str = ""
    # The installation that recorded it (`GPUAAS_SITE`).
    site: str = ""


@dataclass(frozen=True, kw_only=True)
class CandidateComponent(Resource):
    component_key: str = ""
    # Why it cannot live there beside what was chosen; empty: it can.
    refusals: list[PlacementRefusal] = field(default_factory=list)


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
    # The runtime's own version, which is not the app's.
    runtime_version: str = ""
    status: str = ""
    # Why it is deprecated, and what to do.
    notice: str | None = None
    # It is not retired before.
    retire_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimedOperation(Resource):
    """The lease, and the whole context: nothing else has to be asked for before the work begins."""

    operation: Operation
    # Proves that the work is yours; send it with every report.
    lease_token: str = field(repr=False, default="")
    # Report before then, or another replica gets it.
    lease_until: datetime | None = None
    instance: ControllerInstance
    # Of upgrade and rollback.
    target_version: ControllerVersion | None = None
    # All members, not only those that it works on: see `concerned`.
    members: list[ControllerMember] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ClosedKind(Resource):
    """What would come to nothing: whoever asks for it is refused at once, with these words."""

    kind: str = ""
    # For a person: why it is not taken.
    message: str = ""
    # What the person should ask for instead.
    next_step: str = ""
    # Only of members of this component; absent: of all.
    component_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ControllerAllocation(Resource):
    """What a controller may know of the machine below a member. The way in is asked for with machine-access."""

    id: str
    name: str | None = None
    state: str = ""
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host.
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str = ""
    # Whose it is: one of the instance's `projects`.
    project_id: str = ""


@dataclass(frozen=True, kw_only=True)
class ControllerInstance(Resource):
    id: str
    name: str = ""
    app_slug: str = ""
    status: str = ""
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What it runs, or should run; of upgrade and rollback, where it comes from.
    version: ControllerVersion
    # The projects that it serves, its own first.
    projects: list[ControllerProject] = field(default_factory=list)
    # By the manifest's `inputs` schema.
    inputs: Mapping[str, object] = field(default_factory=dict)
    # Pairs of component_key and allocation_id.
    placement_intent: list[Mapping[str, str]] = field(default_factory=list)
    # What you reported last.
    runtime: Mapping[str, object] | None = None
    # What you reported last.
    access_bundle: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class ControllerMember(Resource):
    id: str
    # The component of your manifest.
    component_key: str = ""
    # Its number in the instance, never given twice.
    ordinal: int = 0
    status: str = ""
    # The machine below it; null when it can not be seen any more.
    allocation: ControllerAllocation | None = None
    # What you reported last.
    adapter_detail: Mapping[str, object] | None = None
    # Its allocation has ended: there is no machine to work on.
    host_gone: bool = False
    # Whether the operation works on it.
    concerned: bool = False


@dataclass(frozen=True, kw_only=True)
class ControllerProject(Resource):
    """A project that the instance serves: all that its controller may know of it."""

    project_id: str = ""
    # It never changes.
    slug: str = ""
    # The instance's own project.
    home: bool = False


@dataclass(frozen=True, kw_only=True)
class ControllerVersion(Resource):
    version: str = ""
    # The runtime's own version, which is not the app's.
    runtime_version: str | None = None
    # Of the artifact.
    digest: str | None = None
    # As it was registered.
    manifest: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CredentialDelivery(Resource):
    """A line of the delivery log: who got which version, and for which key it was sealed or signed."""

    id: str
    credential_id: str = ""
    # Of the key pair that was delivered.
    version: int = 0
    # Id of the user or service account.
    delivered_to: str = ""
    # Of the key that it was sealed to or that was certified.
    recipient_fingerprint: str = ""
    # What the certificate opens.
    allocation_id: str | None = None
    # Of the certificate.
    serial: int | None = None
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    delivered_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class EnrolmentToken(Resource):
    id: str
    note: str | None = None
    max_uses: int = 0
    # How many hosts have enrolled with it.
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
    # Id of the person.
    granted_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Event(Resource):
    id: str
    type: str = ""
    # The id of what it is about.
    subject: str = ""
    time: datetime | None = None
    # The position in the log: send as `after` (or Last-Event-ID) to go on from here.
    cursor: str = ""
    # Null: of the platform.
    tenant_id: str | None = None
    # Null: of the tenant, or of the platform.
    project_id: str | None = None
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # What belongs to this type of event; never a secret.
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
    # Id of the user or service account.
    submitted_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class FailureReason(Resource):
    # Stable; listed in contract/error-codes.json, or the host's own.
    code: str = ""
    # For a person.
    message: str = ""
    # What a person should do.
    next_step: str = ""
    # Whether the same may succeed later.
    retryable: bool = False
    # The host task that failed, where one did.
    phase: str | None = None


@dataclass(frozen=True, kw_only=True)
class HealthAccepted(Resource):
    instance_id: str = ""
    status: str = ""
    # What the platform makes of it: members and operations count too.
    health: str = ""
    # Why it is not healthy; empty when it is.
    health_reasons: list[HealthReason] = field(default_factory=list)
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class HealthReason(Resource):
    # Stable, for programs: the platform's, or the controller's own.
    code: str = ""
    # For a person.
    message: str = ""
    # The component that it is about.
    component_key: str | None = None
    # The member that it is about; null: the instance.
    member_id: str | None = None
    # What a person can do about it.
    next_step: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostGpu(Resource):
    # The GPU's number on its host.
    slot_index: int = 0
    # Whether it belongs to the allocation.
    claimed: bool = False
    gpu_model: str = ""
    memory_mib: int | None = None
    pci_address: str = ""
    numa_node: int | None = None
    # GPUs with the same value are linked.
    nvlink_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostReport(Resource):
    id: str
    project_id: str = ""
    allocation_id: str = ""
    node_id: str = ""
    # In the words of who reported it.
    reason: str = ""
    # Id of the user or service account.
    reported_by: str = ""
    created_at: datetime | None = None
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)
    # Null: its GPUs do not return to the pool.
    cleared_at: datetime | None = None
    cleared_by: str | None = None
    # What the operator looked at or repaired.
    cleared_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceSummary(Resource):
    id: str
    # Its own project; another than the one asked in, where it serves that one.
    project_id: str = ""
    name: str = ""
    app_id: str = ""
    app_slug: str = ""
    version: str = ""
    # The runtime's own version, which is not the app's.
    runtime_version: str | None = None
    # Of the artifact that it runs.
    digest: str | None = None
    status: str = ""
    status_since: datetime | None = None
    # From the controller's reports, the members and the operations; `unknown` when nobody reports.
    health: str = ""
    health_since: datetime | None = None
    # Why it is not healthy; empty when it is.
    health_reasons: list[HealthReason] = field(default_factory=list)
    # What went wrong last with the whole instance; null on its way, and once an operation succeeds.
    failure: OperationFailure | None = None
    # How many members are in which status.
    member_counts: Mapping[str, int] = field(default_factory=dict)
    # The live operation on the whole instance.
    operation_id: str | None = None
    # The newest operation on the whole instance, live or ended.
    last_operation_id: str | None = None
    # Id of the user or service account.
    created_by: str = ""
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # Since when its first deploy has succeeded; null until then.
    deployed_at: datetime | None = None
    # Since when it is gone; it stays readable.
    decommissioned_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Instance(InstanceSummary):
    # As they were given, by the manifest's `inputs` schema.
    inputs: Mapping[str, object] = field(default_factory=dict)
    # Which component runs on which allocation; it follows the members that are added and removed.
    placement_intent: list[PlacementIntent] = field(default_factory=list)
    # The projects that it serves, its own first.
    projects: list[InstanceProject] = field(default_factory=list)
    # Versions, endpoints and detail, as the controller reported them last; null before.
    runtime: Mapping[str, object] | None = None
    # Commands, paths and endpoints for people, as the controller reported them last. Never a secret.
    access_bundle: Mapping[str, object] | None = None
    # The form that it has, as its app names it, and what is not taken in it; null: the app names none.
    mode: Mode | None = None
    # What `rollback` goes back to.
    previous_version: InstanceVersion | None = None
    # An upgrade or rollback that did not succeed.
    attempted_version: InstanceVersion | None = None
    # Warnings of the platform, such as a revoked artifact.
    flags: list[HealthReason] = field(default_factory=list)
    # When the controller last reported. Health becomes unknown when it stays silent.
    health_reported_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceMember(Resource):
    id: str
    instance_id: str = ""
    # The app's own name for what it does.
    component_key: str = ""
    # Its number in the instance, never given twice.
    ordinal: int = 0
    allocation_id: str = ""
    # Whose allocation it is: the instance's own project, or a served one.
    allocation_project_id: str = ""
    node_id: str = ""
    status: str = ""
    status_since: datetime | None = None
    # Why it is degraded or failed; else null.
    failure: OperationFailure | None = None
    # From its status and from what the platform knows of its host; null when it is gone.
    health: str | None = None
    # What the platform knows against its host: lost, or reported as broken. Empty: nothing.
    health_reasons: list[MemberHealthReason] = field(default_factory=list)
    # What the controller left for debugging: opaque, at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    # The live operation that works on it.
    operation_id: str | None = None
    # The newest operation that worked on it, live or ended.
    last_operation_id: str | None = None
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # Whether its last teardown was proven; null when there was none.
    verified: bool | None = None
    created_at: datetime | None = None
    # When it first was ready; null until then.
    ready_at: datetime | None = None
    # Since when it is gone; it stays readable.
    removed_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # Kinds of member operations that you may ask for now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class InstanceProject(Resource):
    project_id: str = ""
    # Of the project; it never changes.
    slug: str = ""
    # The instance's own project.
    home: bool = False


@dataclass(frozen=True, kw_only=True)
class InstanceServes(Resource):
    """The instance, and the operation that brings it in line; null where it does not run, or nothing has changed."""

    instance: Instance
    operation: Operation | None = None


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
    # The app's version.
    version: str = ""
    # Of the artifact.
    digest: str | None = None
    # The runtime's own version, which is not the app's.
    runtime_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class IssuedSshCertificate(Resource):
    # As sshd logs it.
    serial: int = 0
    # The user or service account.
    issued_to: str = ""
    # Of the key that it was issued for.
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
    # Report again before then.
    lease_until: datetime | None = None
    # Somebody wants it to end: stop at the next safe place, and fail it.
    cancel_requested: bool = False


@dataclass(frozen=True, kw_only=True)
class MachineAccess(Resource):
    """Certificates of one operation. They end with it, whatever `valid_before` says."""

    operation_id: str = ""
    # Of all of them; ask again before then.
    valid_before: datetime | None = None
    # One for each allocation; its principal is the allocation.
    certificates: list[SshCertificate] = field(default_factory=list)
    # Allocations of the operation that are not active.
    unreachable: list[UnreachableAllocation] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Maintenance(Resource):
    reason: str = ""
    since: datetime | None = None
    # Id of the person.
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class MaintenanceWindow(Resource):
    id: str
    node_id: str = ""
    state: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    reason: str = ""
    # When it cordoned the node. Null: not yet, or the node was cordoned already.
    cordoned_at: datetime | None = None
    # Id of the person.
    planned_by: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    # When it ended or was cancelled.
    finished_at: datetime | None = None
    finished_by: str | None = None
    finished_reason: str | None = None
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class MappedSlot(Resource):
    id: str
    # The GPU's number on its node.
    slot_index: int = 0
    status: str = ""
    # Why it is disabled or blocked.
    status_reason: str | None = None
    gpu_model: str = ""
    # What holds it.
    allocation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Me(Resource):
    id: str
    kind: str = ""
    name: str = ""
    # Of a user.
    email: str | None = None
    # Null: of the platform.
    tenant_id: str | None = None
    roles: list[RoleHeld] = field(default_factory=list)
    # Of a service account; null for people.
    scopes: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Member(Resource):
    # The user's id.
    id: str
    email: str = ""
    name: str = ""
    disabled: bool = False
    # The one held here.
    role: str = ""
    created_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class MemberHealthReason(Resource):
    # `host_lost` or `reported_broken`.
    code: str = ""
    # For a person.
    message: str = ""
    next_step: str = ""
    since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Mode(Resource):
    """A form of the app, such as on one machine or on many, in the app's own words."""

    # The app's name for the form.
    name: str = ""
    # For a person: what this form is.
    meaning: str = ""
    # What the app does not take in this form.
    closed: list[ClosedKind] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class NewCredentialDelivery(CredentialDelivery):
    # Of an ssh_key: the private key, an OpenSSH file.
    sealed_private_key: SealedBox | None = None
    # Of an ssh_certificate.
    certificate: SshCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceAccount(Resource):
    # Also the `client_id` to get a token with.
    id: str
    tenant_id: str = ""
    project_id: str = ""
    name: str = ""
    scopes: list[str] = field(default_factory=list)
    # The apps whose work it may claim and report on.
    app_slugs: list[str] = field(default_factory=list)
    # It gets no token, and its tokens are refused.
    disabled: bool = False
    # Tokens are given and taken only over connections with one of its client certificates.
    certificate_required: bool = False
    # Null: it does not expire.
    expires_at: datetime | None = None
    # Id of the user.
    created_by: str = ""
    created_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class NewServiceAccount(ServiceAccount):
    # The first key, with its secret.
    key: NewServiceAccountKey


@dataclass(frozen=True, kw_only=True)
class ServiceAccountCertificate(Resource):
    id: str
    # `x5t#S256` of RFC 8705: SHA-256 of the certificate, in base64url.
    thumbprint: str = ""
    # The platform key that signed it, of kind `client_ca`.
    authority_id: str = ""
    expires_at: datetime | None = None
    # Id of who asked for it.
    created_by: str = ""
    created_at: datetime | None = None
    # When a token was last bound to it.
    last_used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NewServiceAccountCertificate(ServiceAccountCertificate):
    # PEM. It is no secret; it is not kept, so that it is shown only now.
    certificate: str = ""


@dataclass(frozen=True, kw_only=True)
class ServiceAccountKey(Resource):
    id: str
    # It gets no token, and the tokens that were got with it are refused.
    disabled: bool = False
    created_at: datetime | None = None
    # Null: it does not expire.
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
    # Where it can be reached. It belongs to no other node.
    address: str = ""
    # Addresses that slices on it may have. Null: its agent is of an older release and has not said.
    slice_addresses: list[str] | None = None
    # From where its key is taken, as recorded when it enrolled. Null: not recorded yet.
    source_networks: list[str] | None = None
    status: str = ""
    # Alive, approved and not cordoned: new allocations may land here.
    schedulable: bool = False
    # Nothing new lands here.
    cordoned: bool = False
    # Its allocations are being released.
    draining: bool = False
    # Draining, and nothing is claimed any more.
    drained: bool = False
    # Why it is cordoned, since when and by whom.
    maintenance: Maintenance | None = None
    agent_version: str = ""
    # The last sign of life of its agent.
    last_seen_at: datetime | None = None
    # Since when its agent is silent for too long; null while it is not.
    lost_since: datetime | None = None
    retired_at: datetime | None = None
    # Changes when the host boots.
    boot_id: str | None = None
    # Which key its agent signs with, counted from 1.
    key_generation: int = 0
    # Its agent renews the key before then. In the past: it is refused until the key is approved. Null: the agent is of an older release, whose key has no end.
    key_expires_at: datetime | None = None
    # Whether a wipe erases the drives of the slots and reads them back.
    erase_drives: bool = False
    # Of the agent.json that a wipe brings back: as the agent reported it when no tenant had the whole host. Null: of an agent of an older release.
    configuration_sha256: str | None = None
    # Of the agent's program, recorded in the same way.
    agent_sha256: str | None = None
    # Its agent reports another configuration or program than is recorded; the recorded one stands.
    claim_differs: bool = False
    # How well its agent can prove the wipe of the whole host.
    wipe_grades: list[str] = field(default_factory=list)
    slots: SlotCounts
    # What the agent last reported: host, warnings.
    inventory: Mapping[str, object] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NodeSlots(Resource):
    """A node in the map of the fleet."""

    id: str
    name: str = ""
    status: str = ""
    # Nothing new lands here.
    cordoned: bool = False
    # The GPUs that are there, by their index.
    slots: list[MappedSlot] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Operation(Resource, OperationTraits):
    id: str
    project_id: str = ""
    instance_id: str = ""
    app_slug: str = ""
    kind: str = ""
    # Whether it works on the whole instance, on one member, or stands for many member operations.
    target: str = ""
    # Of a member operation: whom it works on.
    member_id: str | None = None
    # Of `replace`: the member that takes the place.
    new_member_id: str | None = None
    # The bulk operation that it belongs to.
    parent_id: str | None = None
    # Of a bulk operation: whether the others go on after a failure.
    on_failure: str | None = None
    status: str = ""
    status_since: datetime | None = None
    # `verifying`: the controller is done, the hosts are being looked at.
    phase: str | None = None
    # What was asked for beyond the kind, such as a version.
    parameters: Mapping[str, object] = field(default_factory=dict)
    # What the controller reported, in order.
    steps: list[OperationStep] = field(default_factory=list)
    # What the controller reported last; null before.
    progress: OperationProgress | None = None
    # Why it is failed, cancelled or expired; else null.
    failure: OperationFailure | None = None
    # Who ended it on their word; null otherwise.
    forced: OperationForced | None = None
    # Of a bulk operation: how many are in which status.
    children: Mapping[str, int] | None = None
    # What the person who asked for it said.
    reason: str | None = None
    # Id of the user or service account, or of the platform.
    requested_by: str = ""
    # As it was called then.
    requested_by_name: str = ""
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # How often it was claimed.
    attempt: int = 0
    # The service account that claimed it last.
    controller_id: str | None = None
    # The replica of the controller that claimed it last.
    replica: str | None = None
    # Since when its controller is asked to stop.
    cancel_requested_at: datetime | None = None
    created_at: datetime | None = None
    # When it was claimed last.
    claimed_at: datetime | None = None
    finished_at: datetime | None = None
    # When it expires if it has not ended.
    deadline_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class OperationFailure(Resource):
    # Stable, for programs: of contract/error-codes.json, or the controller's own.
    code: str = ""
    # For a person.
    message: str = ""
    # What a person should do.
    next_step: str = ""
    # Whether asking for the same again may succeed.
    retryable: bool = False


@dataclass(frozen=True, kw_only=True)
class OperationForced(Resource):
    """Somebody took responsibility; what was not verified then stays not verified."""

    # Id of the person.
    by: str = ""
    at: datetime | None = None
    reason: str = ""
    # False: nobody has proven the hosts clean.
    verified: bool = False


@dataclass(frozen=True, kw_only=True)
class OperationProgress(Resource):
    # What it is doing, for a person.
    message: str | None = None
    # 0 to 100; null when the controller can not say.
    percent: int | None = None


@dataclass(frozen=True, kw_only=True)
class OperationStep(Resource):
    # The controller's name for it.
    name: str = ""
    # running, succeeded, failed or skipped.
    status: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    # The member that it worked on, where it was one.
    member_id: str | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlacementCandidate(Resource):
    """An allocation of the project, and which components could live on it."""

    # Of the allocation.
    id: str
    name: str | None = None
    state: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str = ""
    components: list[CandidateComponent] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PlacementIntent(Resource):
    # A component of the app's manifest.
    component_key: str = ""
    allocation_id: str = ""


@dataclass(frozen=True, kw_only=True)
class PlacementRefusal(Resource):
    # Stable, for programs.
    code: str = ""
    # For a person.
    message: str = ""
    # The component that it is about, where it is about one.
    component_key: str | None = None
    # The allocation that it is about, where it is about one.
    allocation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlatformKey(Resource):
    id: str
    kind: str = ""
    # next: published, and signs from `signs_from`. active: it signs. trusted: a newer one signs, what this one signed is still good. retired: nothing that it signed is trusted.
    state: str = ""
    # As an OpenSSH line.
    public_key: str = ""
    # Of the public key: SHA256:…, as ssh-keygen -l shows it.
    fingerprint: str = ""
    # PEM; of the TLS and the client CA, and of the key that the registry trusts.
    certificate: str | None = None
    # What the private side is under: a key of the secret store (builtin, or openbao, where it needs that store to open), or still the master key alone. destroyed: it is gone, since the key signs no more.
    custody: str = ""
    # The secret store's key that wraps it: an id of `/secret-keys`.
    secret_key_id: str | None = None
    # Published before it signs, so that everybody knows it by then.
    signs_from: datetime | None = None
    created_at: datetime | None = None
    # Since when nothing that it signed is trusted.
    retired_at: datetime | None = None
    # Of a TLS CA that is not retired: nodes whose agents do not trust it yet.
    unconfirmed: UnconfirmedNodes | None = None


@dataclass(frozen=True, kw_only=True)
class Project(Resource):
    id: str
    tenant_id: str = ""
    slug: str = ""
    name: str = ""
    disabled: bool = False
    # Its deletion was asked for: until then it can be undone, then everything in it is removed.
    delete_after: datetime | None = None
    created_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PublishFailure(Resource):
    # Stable; listed in contract/error-codes.json.
    code: str = ""
    # For a person.
    message: str = ""
    next_step: str = ""
    # Whether publishing the same again may succeed.
    retryable: bool = False


@dataclass(frozen=True, kw_only=True)
class PublishIntent(Resource):
    id: str
    project_id: str = ""
    kind: str = ""
    name: str = ""
    media_type: str = ""
    # As announced; null when it was not.
    size_bytes: int | None = None
    # As the publisher said on completing it.
    digest: str | None = None
    state: str = ""
    # When it ends by itself; null once it has ended.
    deadline_at: datetime | None = None
    # For an open intent of a blob.
    upload: UploadTicket | None = None
    # For an open intent of an image.
    push: RegistryPlace | None = None
    # Why it is failed; else null.
    failure: PublishFailure | None = None
    # What it became; once `registered`.
    artifact_id: str | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    # When it was registered, failed, expired or cancelled.
    ended_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Quota(Resource):
    # The tenant or project.
    scope_id: str = ""
    # Null: no limit.
    gpu_limit: int | None = None
    # Held by allocations that have not ended.
    gpus_used: int = 0
    # Null, of a project: none of its own, the tenant's counts.
    artifact_limit: int | None = None
    # Artifacts, and publish intents that have not ended.
    artifacts_used: int = 0
    # Null, of a project: none of its own, the tenant's counts.
    artifact_byte_limit: int | None = None
    # Of artifacts, and reserved for publish intents that have not ended.
    artifact_bytes_used: int = 0
    # Null, of a project: none of its own, the tenant's counts.
    unproven_gpu_limit: int | None = None
    # Released, but out of use until it is proven that they are clean; not those that only wait for a lost host. At the limit nothing more is given.
    unproven_gpus: int = 0
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class ReceiptLine(Resource):
    id: str
    project_id: str = ""
    instance_id: str = ""
    # The teardown that it belongs to.
    operation_id: str = ""
    # The member that was torn down.
    member_id: str = ""
    allocation_id: str = ""
    node_id: str = ""
    # `stopped`: nothing runs. `gone`: nothing is left at all.
    depth: str = ""
    # `left`: something is there. `unseen`: the host could not be asked. `not_verified`: it was forced.
    status: str = ""
    # Null while pending; false for ever when it was forced.
    verified: bool | None = None
    # Why it is not clean.
    failure: ReceiptProblem | None = None
    # How many leftovers were found.
    left: int = 0
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # When its status stopped being pending.
    settled_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Receipt(ReceiptLine):
    """A teardown receipt: each check with its verdict and evidence. Kept after the instance is gone."""

    checks: list[ReceiptCheck] = field(default_factory=list)
    # What the app's manifest says it leaves on a host, by kind: what was looked for.
    footprint: Mapping[str, list[str]] = field(default_factory=dict)
    # Of the host's baseline that it was compared with, on bare metal.
    baseline_sha256: str | None = None
    # Who accepted it without proof; null otherwise.
    forced: ReceiptForce | None = None


@dataclass(frozen=True, kw_only=True)
class ReceiptCheck(Resource):
    # What was looked at, such as units, processes, ports, paths or credentials.
    name: str = ""
    # `not_seen`: the host could not look.
    verdict: str = ""
    # What the footprint names.
    looked_for: list[str] = field(default_factory=list)
    # Leftovers first; a long list is cut.
    found: list[ReceiptFinding] = field(default_factory=list)
    # How many leftovers there are in all.
    left: int = 0
    # New since the allocation became active, and named by no footprint.
    noted: list[str] = field(default_factory=list)
    # How many things were looked at: nought proves nothing.
    examined: int = 0
    # Why the host could not look; empty when it could.
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
    # Id of the person.
    by: str = ""
    at: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiptProblem(Resource):
    # Stable; listed in contract/error-codes.json.
    code: str = ""
    # For a person.
    message: str = ""
    next_step: str = ""


@dataclass(frozen=True, kw_only=True)
class RegistryPlace(Resource):
    """Push here with any OCI client: `<registry>/<repository>:<any tag>`."""

    # Host and port.
    registry: str = ""
    # Made for this project and name.
    repository: str = ""


@dataclass(frozen=True, kw_only=True)
class RegistryToken(Resource):
    """As the registry token protocol names its fields."""

    token: str = field(repr=False, default="")
    # The same token, under the protocol's other name.
    access_token: str = field(repr=False, default="")
    # Seconds.
    expires_in: int = 0
    issued_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class RetentionPeriod(Resource):
    # What is kept, such as audit.
    name: str = ""
    days: int = 0
    description: str = ""
    # The setting that an operator changes it with.
    setting: str = ""


@dataclass(frozen=True, kw_only=True)
class RevokedSshCertificates(Resource):
    # Serials that opened the door until now; the host is told at once.
    revoked: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class RoleHeld(Resource):
    role: str = ""
    # Null: a role of the platform.
    tenant_id: str | None = None
    # Null: in the tenant as a whole, or of the platform.
    project_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class RuntimeSecret(Resource):
    """Sealed is a JSON object: `username` and `password`, and either `registry` with `reference`, or `url`."""

    id: str
    purpose: str = ""
    # The only artifact that it pulls.
    digest: str = ""
    kind: str = ""
    # It opens nothing from then on; ask for another.
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
class ServedProject(Resource):
    project_id: str = ""
    # Of the project; it never changes.
    slug: str = ""
    # The instance's own project.
    home: bool = False
    since: datetime | None = None
    # Id of the user or service account.
    added_by: str = ""


@dataclass(frozen=True, kw_only=True)
class ServedProjects(Resource):
    instance_id: str = ""
    # Its own first, then in the order in which they came; at most 65.
    items: list[ServedProject] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SigningKey(Resource):
    id: str
    created_at: datetime | None = None
    # Null: this key signs.
    verifies_until: datetime | None = None
    # SHA-256 of the public key, in hex.
    fingerprint: str = ""
    # What the private side is under: a key of the secret store (builtin, or openbao, where it needs that store to open), or still the master key alone. destroyed: it is gone, since the key signs no more.
    custody: str = ""
    # The secret store's key that wraps it: an id of `/secret-keys`.
    secret_key_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sku(Resource):
    id: str
    name: str = ""
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host; on lab hosts it isolates nothing.
    shape: str = ""
    gpu_model: str = ""
    # How many GPUs one allocation may have.
    gpu_counts: list[int] = field(default_factory=list)
    # In minor units of the currency.
    price_per_gpu_hour_minor: int = 0
    # ISO 4217.
    currency: str = ""
    # Whether new allocations may name it.
    offered: bool = False
    # What the wipe has to reach before its GPUs are given to another: `inspected`, or `rebooted` (of a whole host, after a restart into what the platform expects). It counts for releases that begin from now on.
    wipe_grade: str = ""
    # Checks of the wipe that need not have looked, for instance `drives` where a node does not erase them.
    accept_not_examined: list[str] = field(default_factory=list)
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Slot(Resource):
    id: str
    node_id: str = ""
    # The GPU's number on its node.
    slot_index: int = 0
    # discovered, available, claimed, cleaning, cleanup_blocked or disabled.
    status: str = ""
    # Why it is disabled or blocked.
    status_reason: str | None = None
    # What it may be allocated as: any, baremetal or gpu_slice.
    capacity_shape: str = ""
    gpu_model: str = ""
    gpu_uuid: str | None = None
    # Of the GPU.
    memory_mib: int | None = None
    pci_address: str = ""
    numa_node: int | None = None
    # GPUs with the same value are linked.
    nvlink_group: str | None = None
    # The drive that goes with it.
    nvme_device: str | None = None
    iommu_group: int | None = None
    # The network function that goes with it, as the agent reported it.
    vf: Mapping[str, object] | None = None
    # Whether the last inventory had it.
    present: bool = False
    # Null: nobody has approved it, so it can not be allocated.
    approved_at: datetime | None = None
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
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
    # Ask for another before then.
    valid_before: datetime | None = None
    # As sshd logs it, and as it is revoked by.
    serial: int = 0
    # Whom it logs in as to sshd: the allocation.
    principal: str = ""
    ssh: SshTarget
    # Trust these for the host's key, as OpenSSH lines.
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
    # SHA256:…, as ssh-keygen -l shows it.
    fingerprint: str = ""
    # Whose key it is, or what for.
    note: str | None = None
    expires_at: datetime | None = None
    # When it was taken back before its time.
    revoked_at: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    # SHA256:…, as ssh-keygen -l shows it.
    fingerprint: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshTarget(Resource):
    # Name or IP address of the host.
    address: str = ""
    port: int = 0
    # The account to log in as.
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class SshWayIn(Resource):
    # Name or IP address of the host.
    address: str = ""
    port: int = 0
    # The account to log in as.
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class Task(Resource):
    id: str
    node_id: str = ""
    # What the host is to do; see docs/reference/agent-protocol.md.
    kind: str = ""
    # What it is about: an allocation, a receipt or the node.
    resource_id: str = ""
    # Grows with every task for one resource; a host refuses an older one.
    generation: int = 0
    status: str = ""
    # The order, by kind.
    spec: Mapping[str, object] = field(default_factory=dict)
    # How far it has come, as the host reported.
    phases: list[Mapping[str, object]] = field(default_factory=list)
    # What came of it, by kind; null before the report.
    result: Mapping[str, object] | None = None
    # What the host saw, as proof.
    evidence: Mapping[str, object] | None = None
    # code, message, next_step and retryable; null unless it failed.
    failure: Mapping[str, object] | None = None
    # It is not begun after this, and counts as failed.
    deadline: datetime | None = None
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # When the host reported its result; null before.
    reported_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Tenant(Resource):
    id: str
    slug: str = ""
    name: str = ""
    disabled: bool = False
    # Its deletion was asked for: until then it can be undone, then everything in it is removed.
    delete_after: datetime | None = None
    # The least that the wipe of its whole hosts has to reach; the higher of this and the SKU's counts.
    wipe_grade: str = ""
    created_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Terminal(Resource):
    """A shell in an allocation. What is typed and shown is never kept."""

    id: str
    project_id: str = ""
    allocation_id: str = ""
    status: str = ""
    # Path of the WebSocket, for the one who opened it, once. Binary frames are bytes, both ways. Text frames are JSON: you send `{"type": "resize", "columns", "rows"}`; you get `{"type": "opened"}` and `{"type": "ended", "reason", "exit_status", "sentence"}`, after which it closes.
    stream: str = ""
    # Id of the user or service account.
    opened_by: str = ""
    # From where it was asked for.
    address: str = ""
    created_at: datetime | None = None
    # Both the host and the stream must be there by then, or it ends.
    open_by: datetime | None = None
    # When the shell answered.
    opened_at: datetime | None = None
    # It ends when for so long nothing is typed and nothing shown.
    idle_timeout_s: int = 0
    # It ends then at the latest; null until it is open.
    ends_at: datetime | None = None
    ended_at: datetime | None = None
    # Why it ended.
    reason: str | None = None
    # The same for a person.
    sentence: str | None = None
    # Of the shell, when that ended by itself.
    exit_status: int | None = None
    # Typed, or sent. Counted at the end.
    bytes_in: int = 0
    # Shown. Counted at the end.
    bytes_out: int = 0
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # What you may ask for now, given your roles and its state: names of operations.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Timeline(Resource):
    allocation_id: str = ""
    items: list[TimelineEntry] = field(default_factory=list)
    # What the wipe verification looked at and found.
    wipe_evidence: Mapping[str, object] | None = None
    # Who took responsibility for a wipe without proof (by, at, reason, evidence); null otherwise.
    forced: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class TimelineEntry(Resource):
    at: datetime | None = None
    kind: str = ""
    # The state entered, or task/phase on the host.
    name: str = ""
    # Of a state: current or left. Of a task or phase: how it ended, or that it has not.
    status: str = ""
    # Id of who caused the state: a person, a service account or the platform.
    actor: str | None = None
    # What the host said of it, or the reason that was given for it.
    detail: str | None = None
    failure: FailureReason | None = None
    finished_at: datetime | None = None
    # How long it took, once it has ended.
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class TimelineEvent(Resource):
    # Its place: send as `after` to go on from here.
    id: str
    at: datetime | None = None
    type: str = ""
    # The id of what it is about.
    subject: str = ""
    # Id of who caused it: a person, a service account or the platform.
    actor: str = ""
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # What belongs to this type of event; never a secret.
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Topology(Resource):
    allocation_id: str = ""
    # The host.
    node_id: str = ""
    # All of the host by their index; `claimed` says which are the allocation's.
    gpus: list[HostGpu] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class TrustKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    # As it is named in an artifact's `signed_by`.
    fingerprint: str = ""
    # Of the key, such as ecdsa-secp256r1 or rsa-3072.
    algorithm: str = ""
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrustPolicy(Resource):
    tenant_id: str = ""
    # Whether the tenant launches only what one of its trust keys signed.
    require_signature: bool = False
    # Null: nobody has set it yet.
    updated_by: str | None = None
    updated_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class UnconfirmedNodes(Resource):
    # How many of them are alive.
    heard: int = 0
    # How many there are, lost ones included.
    total: int = 0
    # The first twenty; lost ones last.
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class UnreachableAllocation(Resource):
    allocation_id: str = ""
    # Of the allocation: why there is no way in.
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class UploadTicket(Resource):
    """Where the bytes go: not through this API, unless the platform keeps blobs in a directory of its own."""

    # The HTTP method to send the bytes with.
    method: str = ""
    # A path is one of this API, with your access token; else send no token along.
    url: str = ""
    # Whether the request takes your access token.
    authorised: bool = False
    # To be sent along.
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UploadedContent(Resource):
    """What was received; nothing is published by it yet."""

    # Of what was received: complete the intent with it if it is yours.
    digest: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class UsageRecord(Resource):
    id: str
    # Whom it was for.
    project_id: str = ""
    instance_id: str = ""
    app_slug: str = ""
    # The reporter's own name for it, unique within the instance.
    source_key: str = ""
    # A key of the manifest's `metering`.
    metric: str = ""
    unit: str = ""
    quantity: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    # What it was for, in the app's own words, such as a job; never a secret.
    subject: str | None = None
    # Id of the service account.
    reported_by: str = ""
    # Finds all that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    recorded_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class UsageReported(Resource):
    instance_id: str = ""
    # How many records this report has added.
    recorded: int = 0
    # How many were there already, with the same content.
    known: int = 0


@dataclass(frozen=True, kw_only=True)
class UsageTotal(Resource):
    """Of one instance and metric, within the days asked for."""

    instance_id: str = ""
    app_slug: str = ""
    # A key of the manifest's `metering`.
    metric: str = ""
    unit: str = ""
    # The sum.
    quantity: int = 0
    # How many records make it.
    records: int = 0


@dataclass(frozen=True, kw_only=True)
class User(Resource):
    id: str
    # Null: a user of the platform.
    tenant_id: str | None = None
    email: str = ""
    name: str = ""
    # They can not sign in, and their tokens are refused.
    disabled: bool = False
    roles: list[RoleHeld] = field(default_factory=list)
    last_sign_in_at: datetime | None = None
    created_at: datetime | None = None
    # Grows with every change. Where a call takes `If-Match`, this number in quotes is its value.
    generation: int = 0
    # What you may ask for now, given your roles and its state: names of operations.
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
    # Whether it works on the whole instance or on one member.
    target: str = ""
    # Of a member operation: whom it works on.
    member_id: str | None = None
    # How often it was claimed already.
    attempt: int = 0
    created_at: datetime | None = None
    # When it expires if it has not ended.
    deadline_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    # Yours to choose, and to keep stable.
    code: str
    # For a person: what did not work.
    message: str
    # What the person should do. Absent: to read the steps.
    next_step: str | None = None
    # Whether asking for the same again may succeed.
    retryable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberHealth:
    member_id: str
    status: str
    # Opaque, for debugging; at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    # Why it is degraded or failed.
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReport:
    member_id: str
    # Opaque, for debugging; at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    # Why it is degraded or failed.
    message: str | None = None
    # Absent: as it was. `removed` is for the platform to say.
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    # A component of the app's manifest.
    component_key: str
    # An active allocation of the same project, or of one that the instance serves and that you may use.
    allocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReport:
    # What you are doing, for a person.
    message: str | None = None
    percent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonReport:
    # Yours to choose, and to keep stable.
    code: str
    # For a person.
    message: str
    # When it is about one member.
    member_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTarget:
    # The member that leaves.
    member_id: str
    # Where its successor runs.
    allocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """A step by its name. Sending it again changes it; the platform keeps the times."""

    # Yours to choose; the same name is the same step.
    name: str
    status: str
    # When it worked on one member.
    member_id: str | None = None
    # For a person.
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """One thing that was used, for one of the projects that the instance serves."""

    # Yours, and the same for the same thing at every repetition: a record is known by it within its instance.
    source_key: str
    # The instance's own, or one that it serves or has served.
    project_id: str
    # A key of the manifest's `metering`.
    metric: str
    # As the manifest says: whoever adds up must know what.
    unit: str
    # A count of units, always a whole one.
    quantity: int
    started_at: datetime
    # It counts for the day, in UTC, in which it ended.
    ended_at: datetime
    # What it was for, in the app's own words, such as a job; never a secret.
    subject: str | None = None


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
    # Unique among the project's instances that are not decommissioned.
    name: str
    # Which component runs on which allocation of this project.
    placement_intent: Sequence[Placement]
    deadline_seconds: int | None = None
    # What the app's `inputs` schema asks for.
    inputs: Mapping[str, object] | None = None
    # Further projects of the tenant that it serves, and whose allocations it may live on; for apps whose manifest has `tenant_scope`. You need to administer all of them.
    served_projects: Sequence[str] | None = None
    # Absent: the newest that may be launched.
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemberOperation:
    """One envelope for all member operations, on one target or on many.

    `add` takes `component_key` and `allocation_ids`; `replace` takes `replacements`; the others take `targets`."""

    kind: str
    # Of `add`: one new member on each.
    allocation_ids: Sequence[str] | None = None
    # Of `add`: what the new members are.
    component_key: str | None = None
    deadline_seconds: int | None = None
    # Of many: go on with the others, or begin one after the other and none after the first failure.
    on_failure: str | None = None
    # What the app's `options` schema for this kind of operation takes.
    options: Mapping[str, object] | None = None
    reason: str | None = None
    # Of `replace`: who leaves, and where the successor runs.
    replacements: Sequence[ReplaceTarget] | None = None
    # Of `drain`, `remove` and `recover`: the members.
    targets: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSku:
    name: str
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host.
    shape: str
    # As the inventory of the nodes names it.
    gpu_model: str
    # Offered GPU counts per allocation.
    gpu_counts: Sequence[int]
    # In minor units of the currency.
    price_per_gpu_hour_minor: int
    # Checks of the wipe that need not have looked, for instance `drives` where a node does not erase them.
    accept_not_examined: Sequence[str] | None = None
    # ISO 4217.
    currency: str | None = None
    offered: bool | None = None
    # What the wipe has to reach before its GPUs are given to another: `inspected`, or `rebooted` (of a whole host, after a restart into what the platform expects). It counts for releases that begin from now on. Absent: `rebooted` of a whole host, `inspected` of a slice.
    wipe_grade: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSshGrant:
    """A public key, one of your stored keys, or a credential of the project (of kind ssh_key): one of the three."""

    # In the future, within a year, with a time zone.
    expires_at: datetime
    # A credential of the project, of kind ssh_key.
    access_credential_id: str | None = None
    # Whose key it is, or what for.
    note: str | None = None
    # A line as in id_ed25519.pub.
    public_key: str | None = None
    # One of your own stored keys.
    ssh_key_id: str | None = None
