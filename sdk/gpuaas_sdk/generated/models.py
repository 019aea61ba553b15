"""Models of requests and answers. Written by tools/sdk-client; change the contract instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.reader import Resource
from gpuaas_sdk.traits import AllocationTraits, ControllerMemberTraits, InstanceMemberTraits, OperationTraits

__all__ = [
    "AccessCredential",
    "Allocation",
    "AllocationHealthReason",
    "App",
    "AppVersion",
    "AppVersionDetail",
    "Artifact",
    "ArtifactCollection",
    "AuditRecord",
    "CandidateComponent",
    "CatalogApp",
    "CatalogChannel",
    "CatalogEntry",
    "CatalogVersion",
    "ClaimedOperation",
    "ClosedKind",
    "ControllerAllocation",
    "ControllerBinding",
    "ControllerConsent",
    "ControllerInstance",
    "ControllerKindBinding",
    "ControllerMember",
    "ControllerOffer",
    "ControllerProject",
    "ControllerReplica",
    "ControllerStatus",
    "ControllerVersion",
    "CredentialDelivery",
    "Deletion",
    "DeletionWait",
    "DriftMember",
    "EnrolmentToken",
    "EnrolmentTokenCreated",
    "Entitlement",
    "Event",
    "EventPage",
    "Evidence",
    "FailureReason",
    "FailureReport",
    "GarbageArtifact",
    "HealthAccepted",
    "HealthReason",
    "HeartbeatAccepted",
    "HostGpu",
    "HostReport",
    "Instance",
    "InstanceDrift",
    "InstanceMember",
    "InstanceProject",
    "InstanceSecret",
    "InstanceSecretChanged",
    "InstanceSecrets",
    "InstanceStarted",
    "InstanceSummary",
    "InstanceTimeline",
    "InstanceVersion",
    "IssuedSshCertificate",
    "LeaseRenewed",
    "LogLine",
    "LogPage",
    "MachineAccess",
    "Maintenance",
    "MaintenanceWindow",
    "MappedSlot",
    "Me",
    "Member",
    "MemberHealth",
    "MemberHealthReason",
    "MemberProbe",
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
    "OperationSecret",
    "OperationSecrets",
    "OperationStep",
    "PermissionOffered",
    "Placement",
    "PlacementCandidate",
    "PlacementIntent",
    "PlacementRefusal",
    "PlatformKey",
    "ProgressReport",
    "Project",
    "ProvidedApp",
    "PublishFailure",
    "PublishIntent",
    "PullCredentialSet",
    "PushTarget",
    "Quota",
    "ReasonReport",
    "Receipt",
    "ReceiptCheck",
    "ReceiptFinding",
    "ReceiptForce",
    "ReceiptLine",
    "ReceiptProblem",
    "RegistryToken",
    "ReplaceTarget",
    "RetentionPeriod",
    "RevokedSshCertificates",
    "RoleBinding",
    "RuntimeSecret",
    "SealedBox",
    "SecretKey",
    "SecretValue",
    "ServedInstance",
    "ServedProject",
    "ServedProjectChanged",
    "ServedProjects",
    "ServiceAccount",
    "ServiceAccountCertificate",
    "ServiceAccountKey",
    "SigningKey",
    "Sku",
    "Slot",
    "SlotCounts",
    "SshAddress",
    "SshCa",
    "SshCertificate",
    "SshGrant",
    "SshKey",
    "SshTarget",
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
    "UploadPart",
    "UploadParts",
    "UploadTicket",
    "UploadedContent",
    "UploadedPart",
    "UsageAccess",
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
    # Number of the current key of an ssh_key; each rotation adds one.
    version: int = 0
    # Public key of an ssh_key, as it is on the allocations.
    public_key: str | None = None
    # Fingerprint of an ssh_key: SHA256:…, as `ssh-keygen -l` prints it.
    fingerprint: str | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    rotated_at: datetime | None = None
    # When the credential was revoked; null while it is valid.
    revoked_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Allocation(Resource, AllocationTraits):
    id: str
    project_id: str = ""
    # Id that all allocations of one request share.
    batch_id: str | None = None
    name: str | None = None
    sku_id: str = ""
    sku_name: str = ""
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host.
    shape: str = ""
    gpu_model: str = ""
    # Number of GPUs of this allocation.
    gpu_count: int = 0
    # The host, chosen when the allocation was created.
    node_id: str = ""
    state: str = ""
    # When the allocation entered its state.
    state_since: datetime | None = None
    # When the current step counts as failed.
    deadline_at: datetime | None = None
    # Latest time at which the release stops waiting for the app on it to stop.
    release_by: datetime | None = None
    # The host task that is running.
    phase: str | None = None
    # Why the allocation is failed or release_failed; otherwise null.
    failure: FailureReason | None = None
    # Health, derived from the allocation's state and its host's. unhealthy: it cannot be used. Null once it has ended.
    health: str | None = None
    # Why the allocation is not healthy, and what is planned for its host.
    health_reasons: list[AllocationHealthReason] = field(default_factory=list)
    # Where to log in, once the allocation is active.
    ssh: SshAddress | None = None
    # Whether the wipe is proven: null until the release has ended, false permanently after a forced clean-up.
    wipe_verified: bool | None = None
    # The grade that the wipe must reach: the higher of the SKU's and the tenant's when the release began. Null before.
    wipe_grade_required: str | None = None
    # The grade that the proof of the wipe reached: `inspected` (the host examined itself) or `rebooted` (it did so after a restart into the expected state). Null: nothing is proven.
    wipe_grade: str | None = None
    # Checks of the wipe that did not examine anything.
    wipe_not_examined: list[str] = field(default_factory=list)
    # Id of the user or service account.
    created_by: str = ""
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # When the allocation became active; null if it never did.
    active_at: datetime | None = None
    # When the allocation was released or failed. From then on it claims no GPU.
    ended_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AllocationHealthReason(Resource):
    # A stable code for programs, such as host_lost, host_draining or host_cordoned.
    code: str = ""
    # An explanation for people.
    message: str = ""
    # When the condition began, or when it will begin.
    since: datetime | None = None
    # What a person should do next.
    next_step: str = ""
    # The sensible actions now. `replace` releases the allocation and creates one of the same SKU on another host.
    choices: list[str] = field(default_factory=list)
    # When the condition is expected to end, if that is known.
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class App(Resource):
    id: str
    # The tenant that owns the app.
    tenant_id: str = ""
    # The project that publishes the app.
    project_id: str = ""
    # Unique name of the app on the platform.
    slug: str = ""
    display_name: str = ""
    description: str = ""
    # Category from the manifest's `ui`, for browsing.
    category: str | None = None
    # Keywords from the manifest's `ui`, for searching.
    keywords: list[str] = field(default_factory=list)
    # private: only for the app's own tenant. entitled: also for tenants with an entitlement. public: for all tenants.
    visibility: str = ""
    # The version that launches take; null: the newest active one.
    stable_version_id: str | None = None
    # The version that a rollback returns to.
    previous_version_id: str | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AppVersion(Resource):
    id: str
    app_id: str = ""
    project_id: str = ""
    # Slug of the app.
    slug: str = ""
    version: str = ""
    # Version of the runtime, which differs from the app's.
    runtime_version: str = ""
    # How the version runs: oci, launchable or controller.
    artifact_kind: str = ""
    # Digest of the artifact that the version runs.
    artifact_digest: str = ""
    # Digest of the manifest's content, independent of its formatting.
    content_digest: str = ""
    status: str = ""
    # For a canary: the percentage of projects that get it.
    canary_percent: int | None = None
    # Launches take another active version: deprecate this one once nobody needs it.
    superseded: bool = False
    # Why the version is deprecated, and what to do.
    notice: str | None = None
    # The version is not retired before this time.
    retire_at: datetime | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    activated_at: datetime | None = None
    deprecated_at: datetime | None = None
    retired_at: datetime | None = None
    # Since when the publishing project may launch this draft; null: it may not.
    trial_since: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AppVersionDetail(AppVersion):
    # The registered manifest; see app-manifest.schema.json.
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
    # Media type that the publisher announced.
    media_type: str = ""
    # For an image: the reference to pull, by digest.
    reference: str | None = None
    # Host of the external registry that has the image; null: the platform's own.
    registry: str | None = None
    # Whether the image is pulled with a credential of its publisher. Only its own tenant can launch it.
    has_credential: bool = False
    # Stage of the artifact. Only active artifacts and canaries are launched.
    stage: str = ""
    stage_since: datetime | None = None
    # Share of the projects that a canary is for, in percent; 0 in other stages.
    canary_percent: int = 0
    # Result of the checks of bytes and signatures. `revoked` is permanent.
    trust: str = ""
    # Why the artifact is trusted or not, for people.
    trust_detail: str = ""
    # Fingerprints of the tenant's trust keys with a valid signature.
    signed_by: list[str] = field(default_factory=list)
    # Whether bytes and signatures are being checked now.
    checking: bool = False
    # Whether the bytes are being removed. The artifact disappears afterwards.
    deleting: bool = False
    # When bytes and signatures were last checked.
    checked_at: datetime | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ArtifactCollection(Resource):
    # What is being deleted.
    items: list[GarbageArtifact] = field(default_factory=list)
    # Bytes that this frees.
    size_bytes: int = 0
    # Send as `after` to continue; null when all artifacts were examined.
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class AuditRecord(Resource):
    id: str
    at: datetime | None = None
    # The tenant of the resource; null for the platform.
    tenant_id: str | None = None
    # The project of the resource; null if there is none.
    project_id: str | None = None
    # Id of the user, service account, node or part of the platform.
    actor_id: str = ""
    # Kind of the actor, such as user or service_account.
    actor_kind: str = ""
    # Name of the actor at that time.
    actor_name: str = ""
    # Network address that the request came from.
    address: str = ""
    # The operationId, or the name of a step of the platform.
    action: str = ""
    # done, denied, or failed (accepted, but not successful).
    outcome: str = ""
    # Id of the changed resource.
    resource_id: str | None = None
    # Reason that the actor gave.
    reason: str | None = None
    # What changed, by action. Never a secret.
    details: Mapping[str, object] = field(default_factory=dict)
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # The client's User-Agent, shortened and escaped.
    user_agent: str = ""
    # Source of the request: api, console, cli, controller or agent; system for the platform itself. Empty for old records. cli and controller are what the client declared.
    source: str = ""
    # Installation that wrote the record (`GPUAAS_SITE`).
    site: str = ""


@dataclass(frozen=True, kw_only=True)
class CandidateComponent(Resource):
    component_key: str = ""
    # Why the component cannot run there beside what was chosen. Empty: it can.
    refusals: list[PlacementRefusal] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CatalogApp(Resource):
    """An app, as projects that may launch it see it."""

    id: str
    slug: str = ""
    display_name: str = ""
    description: str = ""
    category: str | None = None
    keywords: list[str] = field(default_factory=list)
    # Whether your tenant publishes the app.
    own: bool = False
    # The version that a launch without a version uses in this project, by its channel.
    latest: str | None = None
    # Which versions this project gets: `stable` ones, or the `canary` where the app has one. Without a choice of the project, a hash of the app and the project decides, always in the same way.
    channel: str = ""
    # Whether the project has chosen its channel.
    channel_pinned: bool = False
    # Canary, active and deprecated versions, newest first.
    versions: list[CatalogVersion] = field(default_factory=list)
    # Which controller serves the app in this project.
    controller: ControllerStatus
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CatalogChannel(Resource):
    slug: str = ""
    # Which versions this project gets: `stable` ones, or the `canary` where the app has one. Without a choice of the project, a hash of the app and the project decides, always in the same way.
    channel: str = ""
    # Whether the project has chosen it.
    pinned: bool = False
    # The version that a launch without a version uses.
    latest: str | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CatalogEntry(CatalogApp):
    # The version of the manifest.
    shown: CatalogVersion
    # The manifest: components, compatibility, inputs, footprint and so on.
    manifest: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CatalogVersion(Resource):
    id: str
    version: str = ""
    # Version of the runtime, which differs from the app's.
    runtime_version: str = ""
    status: str = ""
    # For a canary: the percentage of projects that get it.
    canary_percent: int | None = None
    # Why the version is deprecated, and what to do.
    notice: str | None = None
    # The version is not retired before this time.
    retire_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimedOperation(Resource):
    """The lease and the whole context: the work can begin without another call."""

    operation: Operation
    # Proof of your lease. Send it with every report.
    lease_token: str = field(repr=False, default="")
    # When the lease lapses. Report before then, or another replica gets the operation.
    lease_until: datetime | None = None
    instance: ControllerInstance
    # For upgrade and rollback: the version to change to.
    target_version: ControllerVersion | None = None
    # All members of the instance; `concerned` marks those that the operation works on.
    members: list[ControllerMember] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ClosedKind(Resource):
    """An operation that the mode does not allow. A request for it is refused immediately, with this message."""

    kind: str = ""
    # Why the operation is not allowed, for people.
    message: str = ""
    # What to request instead.
    next_step: str = ""
    # Only for members of this component. Absent: for all.
    component_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ControllerAllocation(Resource):
    """The controller sees this of the allocation of a member. To log in, it requests machine access."""

    id: str
    name: str | None = None
    state: str = ""
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host.
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str = ""
    # The project of the allocation: one of the instance's `projects`.
    project_id: str = ""


@dataclass(frozen=True, kw_only=True)
class ControllerBinding(Resource):
    """A service account of the publisher's project that controls an app for every tenant that consents."""

    id: str
    project_id: str = ""
    app_id: str = ""
    app_slug: str = ""
    service_account_id: str = ""
    service_account_name: str = ""
    # Id of the person.
    created_by: str = ""
    created_at: datetime | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)
    # The kind binding that this one follows from; it ends with that one.
    kind_binding_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class ControllerConsent(Resource):
    """A tenant's consent to the controller of an app. It holds until it is withdrawn."""

    id: str
    tenant_id: str = ""
    app_id: str = ""
    app_slug: str = ""
    # What the controller may do.
    permissions: list[str] = field(default_factory=list)
    # Projects in which it may do so; null for all of the tenant.
    project_ids: list[str] | None = None
    # Id of the person.
    given_by: str = ""
    given_at: datetime | None = None
    # Id of the person.
    withdrawn_by: str | None = None
    # Since when the controller may do nothing in the tenant.
    withdrawn_at: datetime | None = None
    # Why it was withdrawn.
    withdrawn_reason: str | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)
    # consent: an administrator gave it by itself. entitlement: it came with an app of the platform.
    given_with: str = ""


@dataclass(frozen=True, kw_only=True)
class ControllerInstance(Resource):
    id: str
    name: str = ""
    app_slug: str = ""
    status: str = ""
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # The version that the instance runs or should run. For upgrade and rollback: the version before.
    version: ControllerVersion
    # Projects that the instance serves, its own first.
    projects: list[ControllerProject] = field(default_factory=list)
    # Inputs, as the manifest's `inputs` schema defines them.
    inputs: Mapping[str, object] = field(default_factory=dict)
    # Pairs of component_key and allocation_id.
    placement_intent: list[Mapping[str, str]] = field(default_factory=list)
    # What you reported last.
    runtime: Mapping[str, object] | None = None
    # What you reported last.
    access_bundle: Mapping[str, object] | None = None
    # When the instance was created. Usage before it is refused.
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ControllerKindBinding(Resource):
    """A service account of the platform that controls every app of a kind, for every tenant that consents."""

    id: str
    project_id: str = ""
    artifact_kind: str = ""
    service_account_id: str = ""
    service_account_name: str = ""
    # Id of the person or service account.
    created_by: str = ""
    created_at: datetime | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ControllerMember(Resource, ControllerMemberTraits):
    id: str
    # A component of your manifest.
    component_key: str = ""
    # Number of the member in the instance. A number is never used twice.
    ordinal: int = 0
    status: str = ""
    # Health at the claim, by the member's status and its probes. A ready member is `unhealthy` while a probe of its host fails: what runs for it may hang, so restart it.
    health: str | None = None
    # The allocation of the member; null when you may not see it any more.
    allocation: ControllerAllocation | None = None
    # What you reported last.
    adapter_detail: Mapping[str, object] | None = None
    # Whether the allocation has ended, so that there is no host to work on.
    host_gone: bool = False
    # Whether the operation works on the member.
    concerned: bool = False


@dataclass(frozen=True, kw_only=True)
class ControllerOffer(Resource):
    """An app whose publisher runs a controller for other tenants, and what a consent allows it to do."""

    # Of the app.
    id: str
    slug: str = ""
    display_name: str = ""
    # Tenant that publishes the app.
    publisher_tenant_id: str = ""
    # Project that publishes the app.
    publisher_project_id: str = ""
    # Names of the controller's service accounts.
    service_accounts: list[str] = field(default_factory=list)
    # Whether a replica is live.
    live: bool = False
    # Since when the controller runs without a gap; null if it does not run.
    since: datetime | None = None
    # What the controller may do with a consent.
    permissions: list[PermissionOffered] = field(default_factory=list)
    # The tenant's consent; null if there is none.
    consent: ControllerConsent | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ControllerProject(Resource):
    """The controller sees this of a project that the instance serves."""

    project_id: str = ""
    # Slug of the project. It never changes.
    slug: str = ""
    # Whether this is the instance's own project.
    home: bool = False


@dataclass(frozen=True, kw_only=True)
class ControllerReplica(Resource):
    service_account_id: str = ""
    service_account_name: str = ""
    app_slug: str = ""
    # Name of the replica; `poll` for replicas that poll for work without heartbeats.
    replica: str = ""
    # Version that the controller reports.
    version: str | None = None
    # Since when the replica runs without a gap.
    since: datetime | None = None
    # When the last heartbeat arrived.
    last_seen_at: datetime | None = None
    # Whether it was seen within GPUAAS_CONTROLLER_SILENCE_SECONDS.
    live: bool = False


@dataclass(frozen=True, kw_only=True)
class ControllerStatus(Resource):
    """The controller that serves an app in a project, or why none does."""

    # live: a controller serves this project now. silent: no replica was seen lately. no_consent: the tenant has not consented to the controller for this project. no_controller: no controller is run for this project.
    state: str = ""
    # Name of the controller's service account.
    served_by: str | None = None
    # Whether the service account is of this project and not of the publisher.
    own: bool = False
    # Since when the controller runs without a gap; null if it does not run.
    since: datetime | None = None
    # When a replica was last seen.
    last_seen_at: datetime | None = None
    # Version that the controller reports.
    version: str | None = None
    # Number of live replicas.
    replicas: int = 0
    # The state as a sentence.
    message: str = ""
    # What to do so that the app is served; null if it is.
    next_step: str | None = None


@dataclass(frozen=True, kw_only=True)
class ControllerVersion(Resource):
    version: str = ""
    # Version of the runtime, which differs from the app's.
    runtime_version: str | None = None
    # Digest of the artifact.
    digest: str | None = None
    # The registered manifest.
    manifest: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CredentialDelivery(Resource):
    """An entry of the delivery log: who received which version, and for which key it was sealed or signed."""

    id: str
    credential_id: str = ""
    # Version of the key pair that was delivered.
    version: int = 0
    # Id of the user or service account.
    delivered_to: str = ""
    # Fingerprint of the key that the private key was sealed to, or of the certified key.
    recipient_fingerprint: str = ""
    # The allocation that the certificate is for.
    allocation_id: str | None = None
    # Serial number of the certificate.
    serial: int | None = None
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    delivered_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Deletion(Resource):
    """The deletion of a project, or without one of the whole tenant, that has not ended."""

    id: str
    tenant_id: str = ""
    tenant_slug: str | None = None
    # Null: the whole tenant is deleted.
    project_id: str | None = None
    project_slug: str | None = None
    # A `scheduled` deletion can be undone; a `purging` one removes data.
    state: str = ""
    # Id of the user who asked for the deletion.
    requested_by: str = ""
    requested_at: datetime | None = None
    # When the grace period ends.
    delete_after: datetime | None = None
    # Number of removed rows, by table.
    removed: Mapping[str, int] = field(default_factory=dict)
    # What the deletion waits for. Null while it makes progress.
    wait: DeletionWait | None = None
    # The deletion has made no progress for ten minutes and needs an operator.
    stuck: bool = False


@dataclass(frozen=True, kw_only=True)
class DeletionWait(Resource):
    # What the deletion waits for. `leftovers`: something in the tenant or project is still alive. `artifacts`, `secrets`: a store has not removed its part. `failing`: the last attempt failed. `worker`: no worker has continued it.
    stage: str = ""
    # When the deletion last made progress.
    since: datetime | None = None
    # What is still there, or the error of the last attempt.
    why: str = ""
    # What an operator can do.
    next_step: str = ""


@dataclass(frozen=True, kw_only=True)
class DriftMember(Resource):
    member_id: str = ""
    component_key: str = ""
    # `member_failed`, `member_degraded`, `probe_failing`, or the code of a failed attempt.
    code: str = ""
    # An explanation for people.
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class EnrolmentToken(Resource):
    id: str
    note: str | None = None
    max_uses: int = 0
    # Number of hosts that have enrolled with the token.
    uses: int = 0
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    created_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class EnrolmentTokenCreated(Resource):
    id: str
    # The bundle for the agent of the new host. It is shown once.
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
    # Type of the event.
    type: str = ""
    # Id of the resource that the event is about.
    subject: str = ""
    time: datetime | None = None
    # Position in the log. Send it as `after` (or Last-Event-ID) to continue from here.
    cursor: str = ""
    # Null for an event of the platform.
    tenant_id: str | None = None
    # Null for an event of the tenant or the platform.
    project_id: str | None = None
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # Details of this type of event. Never a secret.
    data: Mapping[str, object] = field(default_factory=dict)
    source: str = ""
    specversion: str = ""


@dataclass(frozen=True, kw_only=True)
class EventPage(Resource):
    items: list[Event] = field(default_factory=list)
    # Send as `after`, with `wait`, to continue.
    next_cursor: str = ""


@dataclass(frozen=True, kw_only=True)
class Evidence(Resource):
    id: str
    artifact_id: str = ""
    kind: str = ""
    passed: bool = False
    tool: str = ""
    summary: str = ""
    # Source of the evidence: the `platform` itself, its `publisher`, or a run for `development`, which counts for no promotion.
    source: str = ""
    # The operation that showed it; null if none did.
    operation_id: str | None = None
    # Id of the user or service account; `system` for the platform.
    submitted_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class FailureReason(Resource):
    # A stable code: one of contract/error-codes.json, or one of the host.
    code: str = ""
    # An explanation for people.
    message: str = ""
    # What a person should do next.
    next_step: str = ""
    # Whether a retry may succeed.
    retryable: bool = False
    # The host task that failed, if one did.
    phase: str | None = None


@dataclass(frozen=True, kw_only=True)
class GarbageArtifact(Resource):
    """An artifact that no app version and no instance refers to."""

    id: str
    name: str = ""
    kind: str = ""
    digest: str = ""
    stage: str = ""
    # Bytes that its removal frees; 0 for an image in an external registry.
    size_bytes: int = 0
    # Why it can be removed, for people.
    reason: str = ""
    # When its grace period ends.
    collectable_at: datetime | None = None
    # Whether a collection would remove it now.
    due: bool = False


@dataclass(frozen=True, kw_only=True)
class HealthAccepted(Resource):
    instance_id: str = ""
    status: str = ""
    # Health that the platform derived; members and operations count too.
    health: str = ""
    # Why the instance is not healthy; empty when it is.
    health_reasons: list[HealthReason] = field(default_factory=list)
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class HealthReason(Resource):
    # A stable code for programs, of the platform or of the controller.
    code: str = ""
    # An explanation for people.
    message: str = ""
    # The component concerned.
    component_key: str | None = None
    # The member concerned, the first where there are several; null for the instance.
    member_id: str | None = None
    # The members concerned, where the same is true of several; at most 50 are named.
    member_ids: list[str] = field(default_factory=list)
    # What a person should do next.
    next_step: str | None = None


@dataclass(frozen=True, kw_only=True)
class HeartbeatAccepted(Resource):
    # Slug of the app.
    app: str = ""
    # Name of the replica.
    replica: str = ""
    # Since when this replica runs without a gap.
    since: datetime | None = None
    # Send the next heartbeat within this number of seconds.
    next_in_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class HostGpu(Resource):
    # Index of the GPU on its host.
    slot_index: int = 0
    # Whether the GPU belongs to the allocation.
    claimed: bool = False
    gpu_model: str = ""
    # Memory of the GPU in MiB.
    memory_mib: int | None = None
    pci_address: str = ""
    numa_node: int | None = None
    # GPUs with the same value are linked by NVLink.
    nvlink_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostReport(Resource):
    id: str
    project_id: str = ""
    allocation_id: str = ""
    node_id: str = ""
    # What is broken, in the words of the person who reported it.
    reason: str = ""
    # Id of the user or service account.
    reported_by: str = ""
    created_at: datetime | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)
    # When an operator cleared the report. Until then the host's GPUs do not return to the pool.
    cleared_at: datetime | None = None
    # Id of the operator who cleared the report.
    cleared_by: str | None = None
    # What the operator examined or repaired.
    cleared_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceSummary(Resource):
    id: str
    # The instance's own project. It differs from the project in the path when the instance serves that one.
    project_id: str = ""
    name: str = ""
    app_id: str = ""
    app_slug: str = ""
    version: str = ""
    # Version of the runtime, which differs from the app's: as the running app reports it, or else as the version declares it.
    runtime_version: str | None = None
    # Digest of the artifact that the instance runs.
    digest: str | None = None
    status: str = ""
    # When the instance entered its status.
    status_since: datetime | None = None
    # Health, derived from the controller's reports, the members and the operations. `unknown` when the controller does not report.
    health: str = ""
    # When the health last changed.
    health_since: datetime | None = None
    # Why the instance is not healthy; empty when it is.
    health_reasons: list[HealthReason] = field(default_factory=list)
    # The last failure of an operation on the whole instance. Null while another one runs, and once one has succeeded.
    failure: OperationFailure | None = None
    # Number of members in each status.
    member_counts: Mapping[str, int] = field(default_factory=dict)
    # Shape of the allocations that the members are on; `mixed`: of several; null: there is no member.
    bound_capacity_shape: str | None = None
    # The live operation on the whole instance.
    operation_id: str | None = None
    # The newest operation on the whole instance, live or ended.
    last_operation_id: str | None = None
    # Id of the user or service account.
    created_by: str = ""
    # What the platform does when members drift: nothing (`off`), it tells (`notify`), or it requests a `reconcile` itself (`auto`), at most three in an hour, with growing pauses.
    reconcile_policy: str = ""
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # When the first deploy succeeded; null before.
    deployed_at: datetime | None = None
    # When the instance was decommissioned. It can still be read.
    decommissioned_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Instance(InstanceSummary):
    # Inputs of the instance, as the manifest's `inputs` schema defines them.
    inputs: Mapping[str, object] = field(default_factory=dict)
    # Which component runs on which allocation. It changes with the members.
    placement_intent: list[PlacementIntent] = field(default_factory=list)
    # Projects that the instance serves, its own first.
    projects: list[InstanceProject] = field(default_factory=list)
    # The `runtime_version` of the manifest. While another one runs, the health has the reason `runtime_version_mismatch`.
    declared_runtime_version: str | None = None
    # How the version's image runs, as its manifest says; null: a controller of the app's own knows, or each component has its own.
    runtime_profile: Mapping[str, object] | None = None
    # The runtime profiles that components have of their own, by the component's key.
    component_profiles: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    # Versions, endpoints and details that the controller reported last; null before. `runtime_version` is compared with the declared one.
    runtime: Mapping[str, object] | None = None
    # Commands, paths and endpoints for people, as the controller reported them last. Never a secret. Null before that, and once the instance is decommissioned.
    access_bundle: Mapping[str, object] | None = None
    # Mode of the instance, as its app names it, and the operations that the mode does not allow. Null: the app names no mode.
    mode: Mode | None = None
    # The version that `rollback` returns to.
    previous_version: InstanceVersion | None = None
    # The version of an upgrade or rollback that did not succeed.
    attempted_version: InstanceVersion | None = None
    # Warnings of the platform, such as a revoked artifact.
    flags: list[HealthReason] = field(default_factory=list)
    # When the controller last reported. Health becomes unknown when reports stop.
    health_reported_at: datetime | None = None
    # Members that are not as they should be, and what the platform does about it; null: there is none, or the policy is `off`.
    drift: InstanceDrift | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceDrift(Resource):
    """Members that are not as they should be and that a reconcile could mend, and what the platform does about it."""

    # `noticed`: it is only told. `blocked`: a reconcile could not be carried out now. `scheduled`: one is requested at `next_attempt_at`. `reconciling`: one is live. `stopped`: a person has to act.
    state: str = ""
    # An explanation for people.
    message: str = ""
    # What a person should do next; null while the platform acts.
    next_step: str | None = None
    # Why it is `blocked` or `stopped`: a stable code.
    code: str | None = None
    # Since when there is drift.
    noticed_at: datetime | None = None
    # The members that drifted; at most 50 are named.
    members: list[DriftMember] = field(default_factory=list)
    # When the platform requested a reconcile in the last hour.
    attempts: list[datetime] = field(default_factory=list)
    # How many more it may request within the hour.
    attempts_left: int = 0
    # When the next reconcile is requested.
    next_attempt_at: datetime | None = None
    # The newest reconcile that the platform requested.
    operation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceMember(Resource, InstanceMemberTraits):
    id: str
    instance_id: str = ""
    # The component of the manifest that the member runs.
    component_key: str = ""
    # Number of the member in the instance. A number is never used twice.
    ordinal: int = 0
    allocation_id: str = ""
    # The project of the allocation: the instance's own, or one that it serves.
    allocation_project_id: str = ""
    node_id: str = ""
    status: str = ""
    status_since: datetime | None = None
    # Why the member is degraded or failed; otherwise null.
    failure: OperationFailure | None = None
    # Health, derived from the member's status, the state of its host and its probes. Null when the member was removed.
    health: str | None = None
    # Problems that the platform knows: the host is lost or reported as broken, or a probe fails. Empty: none.
    health_reasons: list[MemberHealthReason] = field(default_factory=list)
    # The probes that its host runs; empty: none.
    probes: list[MemberProbe] = field(default_factory=list)
    # Details from the controller for debugging: opaque, at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    # The live operation on the member.
    operation_id: str | None = None
    # The newest operation on the member, live or ended.
    last_operation_id: str | None = None
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # Whether its last teardown was proven; null when there was none.
    verified: bool | None = None
    created_at: datetime | None = None
    # When the member was first ready; null before.
    ready_at: datetime | None = None
    # When the member was removed. It can still be read.
    removed_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Kinds of member operations that you may request now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class InstanceProject(Resource):
    project_id: str = ""
    # Slug of the project. It never changes.
    slug: str = ""
    # Whether this is the instance's own project.
    home: bool = False


@dataclass(frozen=True, kw_only=True)
class InstanceSecret(Resource):
    name: str = ""
    display_name: str = ""
    description: str = ""
    # `generated`: the platform makes the value. `given`: a person gives it.
    source: str = ""
    # Whether the app needs a value; a generated one always has one when it is read.
    required: bool = False
    # Whether members know it.
    shared: bool = False
    # Grows with every new value; null: there is no value yet.
    version: int | None = None
    # When the present value was made or given.
    set_at: datetime | None = None
    # Who gave the present value, or the controller for which it was made.
    set_by: str | None = None
    # When a controller last read it, in an operation.
    read_at: datetime | None = None
    # A change waits for members to get it: until the operation in progress ended.
    rotation_due: bool = False
    # Somebody who has left knows this given value: set another one.
    exposed: bool = False
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class InstanceSecretChanged(Resource):
    """The secret, and the operation that brings it to the members: null while the instance does not run or is busy."""

    secret: InstanceSecret = field(repr=False)
    operation: Operation | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceSecrets(Resource):
    instance_id: str = ""
    # The secrets that the version's manifest declares, in its order.
    items: list[InstanceSecret] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class InstanceStarted(Resource):
    """The instance, and the operation to follow."""

    instance: Instance
    operation: Operation


@dataclass(frozen=True, kw_only=True)
class InstanceTimeline(Resource):
    instance_id: str = ""
    items: list[TimelineEvent] = field(default_factory=list)
    # Send as `after`, with `wait`, to continue.
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class InstanceVersion(Resource):
    # Version of the app.
    version: str = ""
    # Digest of the artifact.
    digest: str | None = None
    # Version of the runtime, which differs from the app's.
    runtime_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class IssuedSshCertificate(Resource):
    # Serial number of the certificate, as sshd logs it.
    serial: int = 0
    # Id of the user or service account.
    issued_to: str = ""
    # Fingerprint of the certified key.
    fingerprint: str = ""
    valid_before: datetime | None = None
    revoked_at: datetime | None = None
    created_at: datetime | None = None
    # The credential that the certificate was issued through.
    access_credential_id: str | None = None
    # The operation that the certificate was issued for, and ends with.
    operation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class LeaseRenewed(Resource):
    operation_id: str = ""
    status: str = ""
    # When the lease lapses. Report again before then.
    lease_until: datetime | None = None
    # Whether cancellation was requested. Stop at the next safe point and fail the operation.
    cancel_requested: bool = False


@dataclass(frozen=True, kw_only=True)
class LogLine(Resource):
    """A line of a member's log. Its host wrote it: control characters are replaced, and known forms of secrets are masked."""

    # Position of the line in the host's journal.
    cursor: str = ""
    # When the host's journal received the line, by the host's clock.
    at: datetime | None = None
    member_id: str = ""
    # The unit that wrote the line.
    source: str = ""
    level: str | None = None
    text: str = ""
    # Whether the line was longer than is shown.
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class LogPage(Resource):
    """A page of lines, always in the order of time."""

    member_id: str = ""
    lines: list[LogLine] = field(default_factory=list)
    # Send as `cursor` with the same `order` for the next page; null when there is no more.
    next_cursor: str | None = None
    # Position of the newest line of this page: follow from here. Null for an empty page.
    newest_cursor: str | None = None
    # Lines that were not shown because there were too many at once.
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class MachineAccess(Resource):
    """Certificates of one operation. They end with the operation, even before `valid_before`."""

    operation_id: str = ""
    # When all of these certificates expire. Request others before then.
    valid_before: datetime | None = None
    # One certificate for each allocation; its principal is the allocation's id.
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
    # When the window cordoned the node. Null: not yet, or the node was cordoned already.
    cordoned_at: datetime | None = None
    # Id of the person.
    planned_by: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    # When the window ended or was cancelled.
    finished_at: datetime | None = None
    # Id of the person who ended or cancelled the window.
    finished_by: str | None = None
    finished_reason: str | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class MappedSlot(Resource):
    id: str
    # Index of the GPU on its node.
    slot_index: int = 0
    status: str = ""
    # Why the slot is disabled or blocked.
    status_reason: str | None = None
    gpu_model: str = ""
    # The allocation that has claimed the slot; null if none has.
    allocation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Me(Resource):
    id: str
    kind: str = ""
    name: str = ""
    # E-mail address of a user; null for a service account.
    email: str | None = None
    # Null for a user of the platform.
    tenant_id: str | None = None
    roles: list[RoleBinding] = field(default_factory=list)
    # Scopes of a service account; null for a user.
    scopes: list[str] | None = None
    # Slugs of the apps that a service account controls now; null for a user.
    app_slugs: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Member(Resource):
    # Id of the user.
    id: str
    email: str = ""
    name: str = ""
    disabled: bool = False
    # Role in this tenant or project.
    role: str = ""
    created_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class MemberHealthReason(Resource):
    # `host_lost`, `reported_broken` or `probe_failing`.
    code: str = ""
    # An explanation for people.
    message: str = ""
    next_step: str = ""
    since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class MemberProbe(Resource):
    """A probe that the member's host runs, and its result. On a host that a tenant controls, the tenant can forge it."""

    key: str = ""
    kind: str = ""
    purpose: list[str] = field(default_factory=list)
    port: int | None = None
    path: str | None = None
    unit: str | None = None
    # `pending`: it has not passed yet, and may still take its time.
    status: str = ""
    # When the status last changed; null before the first report.
    since: datetime | None = None
    # What the last run got, such as `HTTP 503` or `connection refused`.
    answer: str = ""


@dataclass(frozen=True, kw_only=True)
class Mode(Resource):
    """A mode of the app, such as on one host or on several, in the app's own words."""

    # The app's name for the mode.
    name: str = ""
    # What the mode means, for people.
    meaning: str = ""
    # Operations that the app does not allow in this mode.
    closed: list[ClosedKind] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class NewCredentialDelivery(CredentialDelivery):
    # For an ssh_key: the sealed private key, an OpenSSH file.
    sealed_private_key: SealedBox | None = None
    # For an ssh_certificate: the certificate.
    certificate: SshCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceAccount(Resource):
    # Id of the account, and its `client_id` for tokens.
    id: str
    tenant_id: str = ""
    project_id: str = ""
    name: str = ""
    scopes: list[str] = field(default_factory=list)
    # Apps whose work the account may claim and report on.
    app_slugs: list[str] = field(default_factory=list)
    # A disabled account gets no token, and its tokens are refused.
    disabled: bool = False
    # Tokens are issued and accepted only over connections with one of its client certificates.
    certificate_required: bool = False
    # Null: the account does not expire.
    expires_at: datetime | None = None
    # Id of the user.
    created_by: str = ""
    created_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
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
    # Id of the platform key (of kind `client_ca`) that signed the certificate.
    authority_id: str = ""
    expires_at: datetime | None = None
    # Id of the user who requested the certificate.
    created_by: str = ""
    created_at: datetime | None = None
    # When a token was last bound to the certificate.
    last_used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NewServiceAccountCertificate(ServiceAccountCertificate):
    # The certificate in PEM. It is not secret, but it is not stored: it is shown only now.
    certificate: str = ""


@dataclass(frozen=True, kw_only=True)
class ServiceAccountKey(Resource):
    id: str
    # A disabled key gets no token, and the tokens that it obtained are refused.
    disabled: bool = False
    created_at: datetime | None = None
    # Null: the key does not expire.
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NewServiceAccountKey(ServiceAccountKey):
    # The secret, shown once. Only its digest is stored.
    secret: str = field(repr=False, default="")


@dataclass(frozen=True, kw_only=True)
class Node(Resource):
    id: str
    name: str = ""
    hostname: str = ""
    # Address of the host. No other node has it.
    address: str = ""
    # Addresses that slices on the host may have. Null: an older agent has not reported them.
    slice_addresses: list[str] | None = None
    # Networks that the node's key is accepted from, recorded when it enrolled. Null: not recorded yet.
    source_networks: list[str] | None = None
    status: str = ""
    # Whether new allocations may be placed here: the node is alive, approved and not cordoned.
    schedulable: bool = False
    # Whether the node takes no new allocation.
    cordoned: bool = False
    # Whether its allocations are being released.
    draining: bool = False
    # Whether the node is draining and nothing is claimed on it any more.
    drained: bool = False
    # When the planned drain begins. Until then the node is cordoned and its allocations continue.
    drain_at: datetime | None = None
    # Why the node is cordoned, since when and by whom.
    maintenance: Maintenance | None = None
    agent_version: str = ""
    # When the agent was last heard from.
    last_seen_at: datetime | None = None
    # When the node became lost; null while its agent reports.
    lost_since: datetime | None = None
    retired_at: datetime | None = None
    # Changes when the host boots.
    boot_id: str | None = None
    # Number of the key that the agent signs with, from 1.
    key_generation: int = 0
    # When the key expires. The agent renews it before; an expired key is refused until it is approved. Null: an older agent, whose key does not expire.
    key_expires_at: datetime | None = None
    # Whether a wipe erases the drives of the slots and reads them back.
    erase_drives: bool = False
    # SHA-256 of the agent.json that a wipe restores, reported while no tenant had the whole host. Null: an older agent has not reported it.
    configuration_sha256: str | None = None
    # SHA-256 of the agent's program, recorded in the same way.
    agent_sha256: str | None = None
    # Whether the agent reports another configuration or program than the recorded one. The recorded one applies.
    claim_differs: bool = False
    # Grades that the agent can prove for the wipe of the whole host.
    wipe_grades: list[str] = field(default_factory=list)
    slots: SlotCounts
    # What the agent last reported: host facts and warnings.
    inventory: Mapping[str, object] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NodeSlots(Resource):
    """A node in the map of the fleet."""

    id: str
    name: str = ""
    status: str = ""
    # Whether the node takes no new allocation.
    cordoned: bool = False
    # The GPUs of the node, by index.
    slots: list[MappedSlot] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Operation(Resource, OperationTraits):
    id: str
    project_id: str = ""
    instance_id: str = ""
    app_slug: str = ""
    kind: str = ""
    # Whether the operation works on the whole instance or on one member, or groups many member operations (bulk).
    target: str = ""
    # For a member operation: the member.
    member_id: str | None = None
    # For `replace`: the new member.
    new_member_id: str | None = None
    # The bulk operation that this one belongs to.
    parent_id: str | None = None
    # For a bulk operation: whether the others continue after a failure.
    on_failure: str | None = None
    status: str = ""
    # When the operation entered its status.
    status_since: datetime | None = None
    # `verifying`: the controller is done, and the hosts are being inspected. `probing`: the controller is done, and the hosts run the readiness probes.
    phase: str | None = None
    # Parameters of the request, such as a version.
    parameters: Mapping[str, object] = field(default_factory=dict)
    # Steps that the controller reported, in order.
    steps: list[OperationStep] = field(default_factory=list)
    # Progress that the controller reported last; null before.
    progress: OperationProgress | None = None
    # Why the operation failed, was cancelled or expired; otherwise null.
    failure: OperationFailure | None = None
    # Who ended the operation by force; otherwise null.
    forced: OperationForced | None = None
    # For a bulk operation: number of member operations in each status.
    children: Mapping[str, int] | None = None
    # Reason that was given with the request.
    reason: str | None = None
    # Id of the user or service account, or of the platform.
    requested_by: str = ""
    # Name of the requester at that time.
    requested_by_name: str = ""
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # Number of times that the operation was claimed.
    attempt: int = 0
    # The service account that claimed the operation last.
    controller_id: str | None = None
    # The replica of the controller that claimed the operation last.
    replica: str | None = None
    # When the controller was asked to stop; null if it was not.
    cancel_requested_at: datetime | None = None
    created_at: datetime | None = None
    # When the operation was last claimed.
    claimed_at: datetime | None = None
    finished_at: datetime | None = None
    # When the operation expires if it has not ended.
    deadline_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class OperationFailure(Resource):
    # A stable code for programs: one of contract/error-codes.json, or the controller's own.
    code: str = ""
    # An explanation for people.
    message: str = ""
    # What a person should do next.
    next_step: str = ""
    # Whether a retry may succeed.
    retryable: bool = False


@dataclass(frozen=True, kw_only=True)
class OperationForced(Resource):
    """The person who took responsibility. What was not verified then stays not verified."""

    # Id of the person.
    by: str = ""
    at: datetime | None = None
    reason: str = ""
    # False: the hosts were not proven clean.
    verified: bool = False


@dataclass(frozen=True, kw_only=True)
class OperationProgress(Resource):
    # What the controller is doing, for people.
    message: str | None = None
    # 0 to 100; null when the controller does not know.
    percent: int | None = None


@dataclass(frozen=True, kw_only=True)
class OperationSecret(Resource):
    name: str = ""
    version: int = 0
    # The value, sealed to you.
    sealed: SealedBox = field(repr=False)
    # The value before, sealed to you, until a rotation has succeeded; null: there is none.
    previous_sealed: SealedBox | None = None
    # Whether this operation has to bring it to members that have the value before.
    rotated: bool = False


@dataclass(frozen=True, kw_only=True)
class OperationSecrets(Resource):
    operation_id: str = ""
    # The secrets that have a value.
    items: list[OperationSecret] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class OperationStep(Resource):
    # The controller's name for the step.
    name: str = ""
    # running, succeeded, failed or skipped.
    status: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    # The member that the step worked on, if it was one.
    member_id: str | None = None
    # An explanation for people.
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class PermissionOffered(Resource):
    # Name of the permission.
    name: str = ""
    # What the controller may do with it.
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class PlacementCandidate(Resource):
    """An allocation of the project, and which components could run on it."""

    # Id of the allocation.
    id: str
    name: str | None = None
    state: str = ""
    shape: str = ""
    gpu_model: str = ""
    gpu_count: int = 0
    node_id: str = ""
    # Each component of the app, with the reasons against it.
    components: list[CandidateComponent] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PlacementIntent(Resource):
    # A component of the app's manifest.
    component_key: str = ""
    allocation_id: str = ""


@dataclass(frozen=True, kw_only=True)
class PlacementRefusal(Resource):
    # A stable code for programs.
    code: str = ""
    # An explanation for people.
    message: str = ""
    # The component that does not fit, if it is one.
    component_key: str | None = None
    # The allocation that does not fit, if it is one.
    allocation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlatformKey(Resource):
    id: str
    kind: str = ""
    # next: published, signs from `signs_from` on. active: signs. trusted: a newer key signs, and signatures of this one stay valid. retired: nothing that it signed is trusted.
    state: str = ""
    # The public key as an OpenSSH line.
    public_key: str = ""
    # Fingerprint of the public key: SHA256:…, as `ssh-keygen -l` prints it.
    fingerprint: str = ""
    # The certificate in PEM, for the TLS CA, the client CA and the key that the registry trusts; otherwise null.
    certificate: str | None = None
    # What protects the private key: a key of the secret store (builtin or openbao), or still the master key alone. destroyed: the private key no longer exists, because the key no longer signs.
    custody: str = ""
    # Id of the secret store's key that wraps the private key; see `/secret-keys`.
    secret_key_id: str | None = None
    # When the key begins to sign. It is published earlier, so that everyone knows it by then.
    signs_from: datetime | None = None
    created_at: datetime | None = None
    # When the key was retired; null while it is trusted.
    retired_at: datetime | None = None
    # Nodes whose agents do not trust this TLS CA yet; null for other kinds and for retired keys.
    unconfirmed: UnconfirmedNodes | None = None


@dataclass(frozen=True, kw_only=True)
class Project(Resource):
    id: str
    tenant_id: str = ""
    slug: str = ""
    name: str = ""
    disabled: bool = False
    # Null unless deletion was requested. It can be undone until then; afterwards everything in it is removed.
    delete_after: datetime | None = None
    created_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)
    # Whether this is the platform's own project, which publishes its apps.
    platform: bool = False


@dataclass(frozen=True, kw_only=True)
class ProvidedApp(Resource):
    """One of the platform's own apps: whether it is provided, and why not."""

    # Name of the app in GPUAAS_PLATFORM_APPS.
    name: str = ""
    display_name: str = ""
    # preparing: a part of it, such as its image, is being made. provided: it is published, and its controller runs. unavailable: it cannot be provided now; the platform tries again.
    state: str = ""
    # The state as a sentence.
    message: str = ""
    # What to do to get the app; null if there is nothing to do.
    next_step: str | None = None
    # What the platform does now, or why it cannot provide the app. Only operators of the platform see it.
    detail: str | None = None
    # When the state was reported.
    reported_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class PublishFailure(Resource):
    # A stable code; see contract/error-codes.json.
    code: str = ""
    # An explanation for people.
    message: str = ""
    # What a person should do next.
    next_step: str = ""
    # Whether publishing the same bytes again may succeed.
    retryable: bool = False


@dataclass(frozen=True, kw_only=True)
class PublishIntent(Resource):
    id: str
    project_id: str = ""
    kind: str = ""
    name: str = ""
    media_type: str = ""
    # Announced size; null if none was announced.
    size_bytes: int | None = None
    # The image in an external registry; null for bytes that are sent here.
    reference: str | None = None
    # The digest that the publisher announced or registered; null before.
    digest: str | None = None
    # Size of each part of an upload in parts; the last may be smaller. Null: the bytes are sent as a whole.
    part_bytes: int | None = None
    state: str = ""
    # When the intent expires; null once it has ended.
    deadline_at: datetime | None = None
    # Where to upload the blob of an open intent as a whole; null if it is too large for one request.
    upload: UploadTicket | None = None
    # Where to push the image of an open intent.
    push: PushTarget | None = None
    # Why the intent failed; otherwise null.
    failure: PublishFailure | None = None
    # Id of the artifact, once `registered`.
    artifact_id: str | None = None
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    # When the intent was registered, failed, expired or was cancelled.
    ended_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PushTarget(Resource):
    """Push here with any OCI client: `<registry>/<repository>:<any tag>`."""

    # Host and port of the registry.
    registry: str = ""
    # Repository of this project and name.
    repository: str = ""


@dataclass(frozen=True, kw_only=True)
class Quota(Resource):
    # Id of the tenant or project.
    scope_id: str = ""
    # Largest number of GPUs. Null: no limit.
    gpu_limit: int | None = None
    # GPUs of allocations that have not ended.
    gpus_used: int = 0
    # Largest number of artifacts. Null for a project: it has no limit of its own, and the tenant's applies.
    artifact_limit: int | None = None
    # Artifacts, and publish intents that have not ended.
    artifacts_used: int = 0
    # Largest number of bytes of artifacts. Null for a project: it has no limit of its own, and the tenant's applies.
    artifact_byte_limit: int | None = None
    # Bytes of artifacts, and bytes reserved for publish intents that have not ended.
    artifact_bytes_used: int = 0
    # Largest number of unproven GPUs. Null for a project: it has no limit of its own, and the tenant's applies.
    unproven_gpu_limit: int | None = None
    # GPUs that were released but are out of use until they are proven clean, without those that only wait for a lost host. At the limit no new allocation is possible.
    unproven_gpus: int = 0
    # Largest number of open streams (watches, long polls, terminals, followed logs, exports) at one api process. Each process counts for itself, so what is open is not shown. A project without a limit of its own has the platform's default for projects.
    stream_limit: int = 0
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class ReceiptLine(Resource):
    id: str
    project_id: str = ""
    instance_id: str = ""
    # The teardown that the receipt belongs to.
    operation_id: str = ""
    # The member that was torn down.
    member_id: str = ""
    allocation_id: str = ""
    node_id: str = ""
    # `stopped`: nothing runs. `gone`: nothing is left at all.
    depth: str = ""
    # clean: nothing is left. left: something is left. unseen: the host could not be examined. not_verified: the teardown was forced.
    status: str = ""
    # Null while pending; false permanently when the teardown was forced.
    verified: bool | None = None
    # Why the host is not proven clean.
    failure: ReceiptProblem | None = None
    # Number of leftovers.
    left: int = 0
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # When the status was decided.
    settled_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Receipt(ReceiptLine):
    """A teardown receipt: each check with its verdict and evidence. It is kept after the instance is decommissioned."""

    # Each check, with its verdict and evidence.
    checks: list[ReceiptCheck] = field(default_factory=list)
    # What the app leaves on a host according to its manifest, by kind. The checks looked for this.
    footprint: Mapping[str, list[str]] = field(default_factory=dict)
    # SHA-256 of the baseline that the host was compared with, for bare metal.
    baseline_sha256: str | None = None
    # Who accepted the teardown without proof; otherwise null.
    forced: ReceiptForce | None = None


@dataclass(frozen=True, kw_only=True)
class ReceiptCheck(Resource):
    # What was examined, such as units, processes, ports, paths or credentials.
    name: str = ""
    # absent: nothing is left. left: something is left. not_seen: the host could not examine it.
    verdict: str = ""
    # What it looked for: entries of the footprint, or serials of certificates.
    entries: list[str] = field(default_factory=list)
    # What was found, leftovers first. A long list is shortened.
    found: list[ReceiptFinding] = field(default_factory=list)
    # Total number of leftovers.
    left: int = 0
    # Items that are new since the allocation became active and that no footprint names.
    not_in_footprint: list[str] = field(default_factory=list)
    # Number of items that were examined. 0 proves nothing.
    examined: int = 0
    # Why the host could not examine it; otherwise empty.
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiptFinding(Resource):
    # What was found.
    item: str = ""
    # The footprint entry, or the rule, that names it.
    why: str = ""
    # Whether it was there before the tenant, so that it is not a leftover.
    known: bool = False


@dataclass(frozen=True, kw_only=True)
class ReceiptForce(Resource):
    # Id of the person.
    by: str = ""
    at: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiptProblem(Resource):
    # A stable code; see contract/error-codes.json.
    code: str = ""
    # An explanation for people.
    message: str = ""
    # What a person should do next.
    next_step: str = ""


@dataclass(frozen=True, kw_only=True)
class RegistryToken(Resource):
    """A token of the registry token protocol, with its field names."""

    token: str = field(repr=False, default="")
    # The same token, under the protocol's other name.
    access_token: str = field(repr=False, default="")
    # Lifetime of the token in seconds.
    expires_in: int = 0
    issued_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class RetentionPeriod(Resource):
    # Kind of record, such as audit.
    name: str = ""
    days: int = 0
    description: str = ""
    # Name of the setting.
    setting: str = ""


@dataclass(frozen=True, kw_only=True)
class RevokedSshCertificates(Resource):
    # Serial numbers of the certificates that were revoked. The host is notified immediately.
    revoked: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class RoleBinding(Resource):
    role: str = ""
    # Null for a role of the platform.
    tenant_id: str | None = None
    # Null for a role in the tenant as a whole, or of the platform.
    project_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class RuntimeSecret(Resource):
    """A sealed JSON object with `username` and `password`, and either `registry` with `reference`, or `url`.

        `trust` has the certificates of the platform's own authorities, which sign for its registry and its API. `tls` is false
    for a registry that speaks plain HTTP. For an image in an external registry, `username` and `password` are the
    publisher's for that registry, or empty for a public image. `size_bytes` is the compressed size of all layers of an image.
    For an image, `signature_policy` is the trust policy of the tenant that launches: `require_signature`, and its `keys` that
    are not revoked, each with `fingerprint`, `algorithm` and `public_key` (PEM). The host checks the image by this policy."""

    id: str
    purpose: str = ""
    # Digest of the only artifact that the secret can pull.
    digest: str = ""
    kind: str = ""
    # When the secret expires. Request another before then.
    expires_at: datetime | None = None
    # How the secret is sealed; see docs/reference/sealed-delivery.md.
    format: str = ""
    # The sealed secret, with `runtime-secret:<id>` as info.
    sealed: str = field(repr=False, default="")


@dataclass(frozen=True, kw_only=True)
class SealedBox(Resource):
    """HPKE (RFC 9180) in base mode; see docs/reference/sealed-delivery.md."""

    format: str = ""
    # Context of the sealed box. Opening the box requires exactly this text.
    info: str = ""
    # Encapsulated key (32 bytes) and ciphertext, base64.
    box: str = ""


@dataclass(frozen=True, kw_only=True)
class SecretKey(Resource):
    """A key that wraps the data keys of secrets. The key itself is never shown."""

    id: str
    # builtin (sealed under the master key) or openbao (its transit engine).
    backend: str = ""
    version: int = 0
    # Number of values that are still under the key.
    protects: int = 0
    created_at: datetime | None = None
    # When the key was destroyed; every value is under a newer one.
    retired_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ServedInstance(Resource):
    """A running instance, as its controller lists it."""

    id: str
    tenant_id: str = ""
    # Project of the instance; use it in the path of further calls.
    project_id: str = ""
    name: str = ""
    app_slug: str = ""
    version: str = ""
    status: str = ""
    # Live operation on the whole instance; null if there is none.
    operation_id: str | None = None
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class ServedProject(Resource):
    project_id: str = ""
    # Slug of the project. It never changes.
    slug: str = ""
    # Whether this is the instance's own project.
    home: bool = False
    # Since when the instance serves the project.
    since: datetime | None = None
    # Id of the user or service account.
    added_by: str = ""


@dataclass(frozen=True, kw_only=True)
class ServedProjectChanged(Resource):
    """The instance, and the operation that reconciles it: null if the instance does not run or nothing changed."""

    instance: Instance
    operation: Operation | None = None


@dataclass(frozen=True, kw_only=True)
class ServedProjects(Resource):
    instance_id: str = ""
    # The instance's own project first, then the others in the order in which they were added; at most 65.
    items: list[ServedProject] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SigningKey(Resource):
    id: str
    created_at: datetime | None = None
    # When the key stops verifying. Null: this key signs.
    verifies_until: datetime | None = None
    # SHA-256 of the public key, in hex.
    fingerprint: str = ""
    # What protects the private key: a key of the secret store (builtin or openbao), or still the master key alone. destroyed: the private key no longer exists, because the key no longer signs.
    custody: str = ""
    # Id of the secret store's key that wraps the private key; see `/secret-keys`.
    secret_key_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sku(Resource):
    id: str
    name: str = ""
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host, without isolation on lab hosts.
    shape: str = ""
    gpu_model: str = ""
    # Numbers of GPUs that an allocation may have.
    gpu_counts: list[int] = field(default_factory=list)
    # Price of a GPU for an hour, in minor units of the currency.
    price_per_gpu_hour_minor: int = 0
    # Currency code (ISO 4217).
    currency: str = ""
    # Whether new allocations may use the SKU.
    offered: bool = False
    # Grade that the wipe must reach before the GPUs are allocated again: `inspected`, or `rebooted` (for a whole host, after a restart into the expected state). It applies to releases that begin from now on.
    wipe_grade: str = ""
    # Checks of the wipe that may be left out, for example `drives` where a node does not erase them.
    accept_not_examined: list[str] = field(default_factory=list)
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Slot(Resource):
    id: str
    node_id: str = ""
    # Index of the GPU on its node.
    slot_index: int = 0
    # discovered, available, claimed, cleaning, cleanup_blocked or disabled.
    status: str = ""
    # Why the slot is disabled or blocked.
    status_reason: str | None = None
    # Shape that the slot may be allocated as: any, baremetal or gpu_slice.
    capacity_shape: str = ""
    gpu_model: str = ""
    gpu_uuid: str | None = None
    # Memory of the GPU in MiB.
    memory_mib: int | None = None
    pci_address: str = ""
    numa_node: int | None = None
    # GPUs with the same value are linked by NVLink.
    nvlink_group: str | None = None
    # Drive that belongs to the slot.
    nvme_device: str | None = None
    iommu_group: int | None = None
    # Network function that belongs to the slot, as the agent reported it.
    vf: Mapping[str, object] | None = None
    # Whether the last inventory contained the GPU.
    present: bool = False
    # When the slot was approved. Null: it cannot be allocated.
    approved_at: datetime | None = None
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)
    # Grows with every change. In quotes, it is the value for `If-Match`.
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
class SshAddress(Resource):
    # Name or IP address of the host.
    address: str = ""
    # Port of the host's sshd.
    port: int = 0
    # The user name to log in with.
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class SshCa(Resource):
    # Authorities that hosts trust for logins.
    user_ca_keys: list[str] = field(default_factory=list)
    # Authorities that clients trust for host keys.
    host_ca_keys: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SshCertificate(Resource):
    # The certificate. Write it beside your private key, as <key>-cert.pub.
    certificate: str = ""
    # When the certificate expires. Request another before then.
    valid_before: datetime | None = None
    # Serial number of the certificate, as sshd logs it; use it to revoke the certificate.
    serial: int = 0
    # The principal that sshd accepts: the id of the allocation.
    principal: str = ""
    # Where to log in.
    ssh: SshTarget
    # Authorities to trust for the host's key, as OpenSSH lines.
    host_ca_keys: list[str] = field(default_factory=list)
    # A line for known_hosts that trusts the host CA for this address and for `-o HostKeyAlias=<allocation id>`.
    known_hosts_line: str = ""
    # Networks that the host accepts the certificate from. Empty: it accepts it from everywhere, because the operator has turned the check off and the request named none.
    source_addresses: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SshGrant(Resource):
    id: str
    allocation_id: str = ""
    # Id of the user or service account, or of the credential whose key it is.
    granted_to: str = ""
    public_key: str = ""
    # SHA256:…, as `ssh-keygen -l` prints it.
    fingerprint: str = ""
    # Whose key it is, or its purpose.
    note: str | None = None
    expires_at: datetime | None = None
    # When the grant was revoked; null if it was not.
    revoked_at: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    # SHA256:…, as `ssh-keygen -l` prints it.
    fingerprint: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshTarget(Resource):
    # Name or IP address of the host.
    address: str = ""
    # Port of the host's sshd.
    port: int = 0
    # The user name to log in with.
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class Task(Resource):
    id: str
    node_id: str = ""
    # Kind of task; see docs/reference/agent-protocol.md.
    kind: str = ""
    # Id of the allocation, receipt or node that the task is about.
    resource_id: str = ""
    # Grows with every task for the same resource. A host refuses an older one.
    generation: int = 0
    status: str = ""
    # Specification of the task, by kind.
    spec: Mapping[str, object] = field(default_factory=dict)
    # Phases that the host has reported.
    phases: list[Mapping[str, object]] = field(default_factory=list)
    # Result of the task, by kind; null before the report.
    result: Mapping[str, object] | None = None
    # Evidence of what the host found.
    evidence: Mapping[str, object] | None = None
    # code, message, next_step and retryable; null unless the task failed.
    failure: Mapping[str, object] | None = None
    # A task that has not begun by then counts as failed and is not begun.
    deadline: datetime | None = None
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    created_at: datetime | None = None
    # When the host reported the result; null before.
    reported_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Tenant(Resource):
    id: str
    slug: str = ""
    name: str = ""
    disabled: bool = False
    # Null unless deletion was requested. It can be undone until then; afterwards everything in it is removed.
    delete_after: datetime | None = None
    # Lowest grade for wipes of whole hosts. The higher of this and the SKU's applies.
    wipe_grade: str = ""
    created_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Terminal(Resource):
    """A shell in an allocation. Input and output are never stored."""

    id: str
    project_id: str = ""
    allocation_id: str = ""
    status: str = ""
    # Path of the WebSocket. Only the person who opened the terminal can connect, once. Binary frames are bytes in both directions. Text frames are JSON: you send `{"type": "resize", "columns", "rows"}`; you receive `{"type": "opened"}` and `{"type": "ended", "reason", "exit_status", "message"}`, after which it closes.
    stream: str = ""
    # Id of the user or service account.
    opened_by: str = ""
    # Network address of the request.
    address: str = ""
    created_at: datetime | None = None
    # The host and the WebSocket must be connected by then, or the terminal ends.
    open_by: datetime | None = None
    # When the shell started.
    opened_at: datetime | None = None
    # The terminal ends after so many seconds without input and output.
    idle_timeout_s: int = 0
    # Latest end of the terminal; null until it is open.
    ends_at: datetime | None = None
    ended_at: datetime | None = None
    # Why the terminal ended.
    reason: str | None = None
    # Why the terminal ended, for people.
    message: str | None = None
    # Exit status of the shell, if the shell ended by itself.
    exit_status: int | None = None
    # Bytes of input, counted at the end.
    bytes_in: int = 0
    # Bytes of output, counted at the end.
    bytes_out: int = 0
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Timeline(Resource):
    allocation_id: str = ""
    # States and phases, oldest first.
    items: list[TimelineEntry] = field(default_factory=list)
    # What the verification of the wipe examined and found.
    wipe_evidence: Mapping[str, object] | None = None
    # Who took responsibility for an unproven wipe (by, at, reason, evidence); otherwise null.
    forced: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class TimelineEntry(Resource):
    # When the state was entered or the phase began.
    at: datetime | None = None
    kind: str = ""
    # The state, or the task and phase on the host.
    name: str = ""
    # For a state: current or left. For a task or phase: its outcome, or that it is still running.
    status: str = ""
    # Id of the user, service account or part of the platform that caused the state.
    actor: str | None = None
    # What the host reported, or the reason that was given.
    detail: str | None = None
    failure: FailureReason | None = None
    finished_at: datetime | None = None
    # Duration in seconds, once it has ended.
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class TimelineEvent(Resource):
    # Position of the event. Send it as `after` to continue from here.
    id: str
    at: datetime | None = None
    type: str = ""
    # Id of the resource that the event is about.
    subject: str = ""
    # Id of the user, service account or part of the platform that caused the event.
    actor: str = ""
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    # Details of this type of event. Never a secret.
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Topology(Resource):
    allocation_id: str = ""
    # The host.
    node_id: str = ""
    # All GPUs of the host by index; `claimed` marks those of the allocation.
    gpus: list[HostGpu] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class TrustKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    # Fingerprint of the key, as in an artifact's `signed_by`.
    fingerprint: str = ""
    # Algorithm of the key, such as ecdsa-secp256r1 or rsa-3072.
    algorithm: str = ""
    # Id of the user or service account.
    created_by: str = ""
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrustPolicy(Resource):
    tenant_id: str = ""
    # Whether the tenant launches only artifacts that one of its trust keys signed.
    require_signature: bool = False
    # Whether images, and files that an app version names, are staged only after the platform itself has launched them.
    require_smoke_launch: bool = False
    # Id of the person who set the policy; null while it is the default.
    updated_by: str | None = None
    updated_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class UnconfirmedNodes(Resource):
    # Number of these nodes that are alive.
    alive: int = 0
    # Number of these nodes, lost ones included.
    total: int = 0
    # Names of the first twenty nodes, lost ones last.
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class UnreachableAllocation(Resource):
    allocation_id: str = ""
    # State of the allocation, which is why nobody can log in.
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class UploadPart(Resource):
    # Number of the part, from 1.
    number: int = 0
    # Where the part begins in the blob.
    offset: int = 0
    # Size of the part. Another size is refused.
    size_bytes: int = 0
    # Whether the part has arrived.
    received: bool = False
    # Where to send the part; null once it has arrived. A URL of a bucket is valid for an hour.
    upload: UploadTicket | None = None


@dataclass(frozen=True, kw_only=True)
class UploadParts(Resource):
    # Number of all parts.
    count: int = 0
    # When the intent expires unless more parts are requested or sent.
    deadline_at: datetime | None = None
    # Parts in the order of their numbers.
    parts: list[UploadPart] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class UploadTicket(Resource):
    """The ticket says where to send the bytes. This API takes them only if the platform keeps blobs in its own directory."""

    # HTTP method for the upload.
    method: str = ""
    # Where to send the bytes. A path belongs to this API and takes your access token; for any other URL, send no token.
    url: str = ""
    # Whether the request takes your access token.
    authorised: bool = False
    # Headers to send with the bytes.
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UploadedContent(Resource):
    """The received bytes. They are not published yet."""

    # Digest of the received bytes. Compare it with yours before you complete the intent.
    digest: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class UploadedPart(Resource):
    number: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class UsageAccess(Resource):
    """Certificates that print what hosts have counted for one instance, whatever command is requested."""

    instance_id: str = ""
    # When all of these certificates expire.
    valid_before: datetime | None = None
    # One certificate for each allocation of the instance that can be reached; its principal is the allocation's id.
    certificates: list[SshCertificate] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class UsageRecord(Resource):
    id: str
    # The project that the usage was for.
    project_id: str = ""
    instance_id: str = ""
    app_slug: str = ""
    # The reporter's name for the record, unique within the instance.
    source_key: str = ""
    # A key of the manifest's `metering`.
    metric: str = ""
    unit: str = ""
    quantity: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    # What was used, in the app's own words, such as a job. Never a secret.
    subject: str | None = None
    # Id of the service account.
    reported_by: str = ""
    # Shared by everything that one request caused: audit records, events, operations, host tasks and logs.
    correlation_id: str = ""
    recorded_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class UsageReported(Resource):
    instance_id: str = ""
    # Number of records that this report added.
    recorded: int = 0
    # Number of records that were stored already, with the same content.
    known: int = 0


@dataclass(frozen=True, kw_only=True)
class UsageTotal(Resource):
    """The sum of one metric of one instance within the requested days."""

    instance_id: str = ""
    app_slug: str = ""
    # A key of the manifest's `metering`.
    metric: str = ""
    unit: str = ""
    # The sum.
    quantity: int = 0
    # Number of records in the sum.
    records: int = 0


@dataclass(frozen=True, kw_only=True)
class User(Resource):
    id: str
    # Null for a user of the platform.
    tenant_id: str | None = None
    email: str = ""
    name: str = ""
    # A disabled user cannot sign in, and their tokens are refused.
    disabled: bool = False
    roles: list[RoleBinding] = field(default_factory=list)
    last_sign_in_at: datetime | None = None
    created_at: datetime | None = None
    # Grows with every change. In quotes, it is the value for `If-Match`.
    generation: int = 0
    # Names of the actions that your roles and the state of the resource allow now.
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class UserWithPassword(User):
    # The password, if the platform made it. It is shown once.
    initial_password: str | None = field(repr=False, default=None)


@dataclass(frozen=True, kw_only=True)
class WorkItem(Resource):
    """An operation that waits for a controller. Claim it before you begin."""

    id: str
    # Tenant of the operation: your own, or one that consents to this controller.
    tenant_id: str = ""
    # Project of the operation; use it in the path of further calls.
    project_id: str = ""
    instance_id: str = ""
    app_slug: str = ""
    kind: str = ""
    # Whether the operation works on the whole instance or on one member.
    target: str = ""
    # For a member operation: the member.
    member_id: str | None = None
    # Number of times that the operation was claimed before.
    attempt: int = 0
    created_at: datetime | None = None
    # When the operation expires if it has not ended.
    deadline_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    # A code of your choice. Keep it stable.
    code: str
    # What failed, for people.
    message: str
    # What the person should do. Absent: read the steps.
    next_step: str | None = None
    # Whether a retry may succeed.
    retryable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberHealth:
    member_id: str
    status: str
    # Opaque details for debugging; at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    # Why the member is degraded or failed.
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReport:
    member_id: str
    # Opaque details for debugging; at most 16 KiB.
    adapter_detail: Mapping[str, object] | None = None
    # Why the member is degraded or failed.
    message: str | None = None
    # Absent: the status stays as it was. Only the platform sets `removed`.
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    # A component of the app's manifest.
    component_key: str
    # An active allocation of the project, or of a project that the instance serves and that you may use.
    allocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReport:
    # What you are doing, for people.
    message: str | None = None
    # 0 to 100.
    percent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullCredentialSet:
    """A user name and a password for one external registry. They are sealed at once and never shown."""

    # The user name, without a colon.
    username: str
    # The password, or a token of the registry. It should permit only pulls: hosts get it to pull the image.
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonReport:
    # A code of your choice. Keep it stable.
    code: str
    # An explanation for people.
    message: str
    # The member concerned, if it is one.
    member_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTarget:
    # The member to replace.
    member_id: str
    # The allocation of the new member.
    allocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretValue:
    # The value, at most 16 KiB. It is never shown again.
    value: str
    # How `value` is written.
    encoding: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """A step, identified by its name. Another report of the same name updates it; the platform records the times."""

    # A name of your choice. The same name is the same step.
    name: str
    status: str
    # The member that the step works on, if it is one.
    member_id: str | None = None
    # An explanation for people.
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """One use, for one of the projects that the instance serves."""

    # A key of your choice, unique within the instance. A repetition with the same key adds nothing.
    source_key: str
    # The instance's own project, or one that it serves or has served.
    project_id: str
    # A key of the manifest's `metering`.
    metric: str
    # Unit of the quantity, as in the manifest.
    unit: str
    # A whole number of units.
    quantity: int
    started_at: datetime
    # The usage counts for the day (UTC) of this time.
    ended_at: datetime
    # What was used, in the app's own words, such as a job. Never a secret.
    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAllocation:
    # Id or name of an offered SKU.
    sku: str
    # Number of allocations. Either all of them are created or none.
    count: int | None = None
    # GPUs of each allocation. Required when the SKU offers several counts.
    gpu_count: int | None = None
    # Name of the allocation. When `count` is larger than 1, -1, -2 and so on is appended.
    name: str | None = None
    # Ids of your stored SSH keys that may log in while the allocation lives.
    ssh_key_ids: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInstance:
    # Slug of the app, from the catalogue.
    app: str
    # Unique among the project's instances that are not decommissioned.
    name: str
    # Which component runs on which allocation.
    placement_intent: Sequence[Placement]
    deadline_seconds: int | None = None
    # Inputs, as the app's `inputs` schema defines them.
    inputs: Mapping[str, object] | None = None
    # What the platform does when members drift: nothing (`off`), it tells (`notify`), or it requests a `reconcile` itself (`auto`), at most three in an hour, with growing pauses.
    reconcile_policy: str | None = None
    # Values of the secrets that the app's manifest declares as given. They are sealed at once.
    secrets: Mapping[str, object] | None = None
    # Further projects of the tenant that the instance serves and whose allocations it may use. Only for apps whose manifest has `tenant_scope`; you must administer all of them.
    served_projects: Sequence[str] | None = None
    # Version of the app. Absent: the newest that may be launched.
    version: str | None = None
    # What to do if no controller serves the app here: `refuse` with `no_controller`, or `queue` the deploy operation until a controller claims it or its deadline passes.
    when_no_controller: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemberOperation:
    """A member operation of any kind, on one member or several.

    `add` takes `component_key` and `allocation_ids`; `replace` takes `replacements`; the others take `targets`."""

    kind: str
    # For `add`: one new member is added on each.
    allocation_ids: Sequence[str] | None = None
    # For `add`: the component of the new members.
    component_key: str | None = None
    deadline_seconds: int | None = None
    # For `drain`, `remove` and `replace`: do it even if the app's `min` or `depends_on` forbids it. Needs a reason.
    force: bool | None = None
    # For several members. continue: work on all of them. stop: work on one after the other, and stop after the first failure.
    on_failure: str | None = None
    # Options of the operation, as the app's `options` schema for this kind defines them.
    options: Mapping[str, object] | None = None
    reason: str | None = None
    # For `replace`: each member, and the allocation of its replacement.
    replacements: Sequence[ReplaceTarget] | None = None
    # For `drain`, `remove` and `recover`: the members.
    targets: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSku:
    name: str
    # `baremetal`: a whole host. `gpu_slice`: some GPUs of a host.
    shape: str
    # GPU model, as the inventory of the nodes names it.
    gpu_model: str
    # Numbers of GPUs that an allocation may have.
    gpu_counts: Sequence[int]
    # Price of a GPU for an hour, in minor units of the currency.
    price_per_gpu_hour_minor: int
    # Checks of the wipe that may be left out, for example `drives` where a node does not erase them.
    accept_not_examined: Sequence[str] | None = None
    # Currency code (ISO 4217).
    currency: str | None = None
    # Whether new allocations may use the SKU.
    offered: bool | None = None
    # Grade that the wipe must reach before the GPUs are allocated again: `inspected`, or `rebooted` (for a whole host, after a restart into the expected state). It applies to releases that begin from now on. Absent: `rebooted` for a whole host, `inspected` for a slice.
    wipe_grade: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSshGrant:
    """Exactly one of: a public key, one of your stored keys, or a credential of the project (of kind ssh_key)."""

    # When the grant ends: in the future, within a year, with a time zone.
    expires_at: datetime
    # Id of a credential of the project, of kind ssh_key.
    access_credential_id: str | None = None
    # Whose key it is, or its purpose.
    note: str | None = None
    # An OpenSSH public key line, as in id_ed25519.pub.
    public_key: str | None = None
    # Id of one of your stored keys.
    ssh_key_id: str | None = None
