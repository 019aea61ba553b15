"""One method for each operation of the contract. Written by tools/sdk-client; change the contract instead."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from gpuaas_sdk.generated.models import (
    AccessCredential,
    Allocation,
    App,
    AppVersion,
    AppVersionDetail,
    Artifact,
    ArtifactCollection,
    AuditRecord,
    CatalogApp,
    CatalogChannel,
    CatalogEntry,
    ClaimedOperation,
    ControllerBinding,
    ControllerConsent,
    ControllerKindBinding,
    ControllerOffer,
    ControllerReplica,
    CredentialDelivery,
    Deletion,
    EnrolmentToken,
    EnrolmentTokenCreated,
    Entitlement,
    EventPage,
    Evidence,
    FailureReport,
    GarbageArtifact,
    HealthAccepted,
    HeartbeatAccepted,
    HostReport,
    Instance,
    InstanceMember,
    InstanceSecretChanged,
    InstanceSecrets,
    InstanceStarted,
    InstanceSummary,
    InstanceTimeline,
    IssuedSshCertificate,
    LeaseRenewed,
    LogPage,
    MachineAccess,
    MaintenanceWindow,
    Me,
    Member,
    MemberHealth,
    MemberReport,
    Mode,
    NewAllocation,
    NewCredentialDelivery,
    NewInstance,
    NewMemberOperation,
    NewServiceAccount,
    NewServiceAccountCertificate,
    NewServiceAccountKey,
    NewSku,
    NewSshGrant,
    Node,
    NodeSlots,
    Operation,
    OperationSecrets,
    Placement,
    PlacementCandidate,
    PlatformKey,
    ProgressReport,
    Project,
    ProvidedApp,
    PublishIntent,
    PullCredentialSet,
    Quota,
    ReasonReport,
    Receipt,
    ReceiptLine,
    RegistryToken,
    RetentionPeriod,
    RevokedSshCertificates,
    RuntimeSecret,
    SecretKey,
    ServedInstance,
    ServedProjectChanged,
    ServedProjects,
    ServiceAccount,
    ServiceAccountCertificate,
    ServiceAccountKey,
    SigningKey,
    Sku,
    Slot,
    SshCa,
    SshCertificate,
    SshGrant,
    SshKey,
    StepReport,
    Task,
    Tenant,
    Terminal,
    Timeline,
    Topology,
    TrustKey,
    TrustPolicy,
    UploadedContent,
    UploadedPart,
    UploadParts,
    UsageAccess,
    UsageRecord,
    UsageReport,
    UsageReported,
    UsageTotal,
    User,
    UserWithPassword,
    WorkItem,
)
from gpuaas_sdk.sync.calls import Calls, Pages
from gpuaas_sdk.sync.transport import Content, Request, Transport
from gpuaas_sdk.wire import body_of, if_match, object_of, path_of, wait_timeout


class AccessCredentialsCalls(Calls):
    def create(
        self, project_id: str, name: str, *, kind: str | None = None, generation: int | None = None
    ) -> AccessCredential:
        """Create a credential: a name to get certificates under (nothing is stored), or a key pair whose private key the platform
        keeps."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "access-credentials"),
            body=body_of({"name": name}, {"kind": kind}),
            headers=if_match(generation),
        )
        return self._read(AccessCredential, request)

    def deliver(
        self,
        project_id: str,
        credential_id: str,
        *,
        allocation_id: str | None = None,
        minutes: int | None = None,
        public_key: str | None = None,
        recipient_key: str | None = None,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> NewCredentialDelivery:
        """Get the private key, sealed to your X25519 key, or a certificate for your SSH key. Each delivery is logged."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "access-credentials", credential_id, "deliveries"),
            body=body_of(
                {},
                {
                    "allocation_id": allocation_id,
                    "minutes": minutes,
                    "public_key": public_key,
                    "recipient_key": recipient_key,
                    "source_addresses": source_addresses,
                },
            ),
            headers=if_match(generation),
        )
        return self._read(NewCredentialDelivery, request)

    def deliveries(self, project_id: str, credential_id: str) -> Pages[CredentialDelivery]:
        """List the deliveries of a credential, newest first: who received which version, and for which key."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "access-credentials", credential_id, "deliveries")
        )
        return self._pages(CredentialDelivery, request)

    def revoke(
        self, project_id: str, credential_id: str, reason: str, *, generation: int | None = None
    ) -> AccessCredential:
        """Revoke a credential. Its key is removed from the hosts, its certificates end, and its private key is destroyed."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "access-credentials", credential_id, "revoke"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(AccessCredential, request)

    def rotate(
        self, project_id: str, credential_id: str, *, overlap_minutes: int | None = None, generation: int | None = None
    ) -> AccessCredential:
        """Replace the key pair of a credential on every allocation that has it."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "access-credentials", credential_id, "rotate"),
            body=body_of({}, {"overlap_minutes": overlap_minutes}),
            headers=if_match(generation),
        )
        return self._read(AccessCredential, request)

    def show(self, project_id: str, credential_id: str) -> AccessCredential:
        """Show a credential and its public key. A private key is only ever in a delivery, sealed."""
        request = Request(method="GET", path=path_of("projects", project_id, "access-credentials", credential_id))
        return self._read(AccessCredential, request)

    def list(self, project_id: str) -> Pages[AccessCredential]:
        """List the credentials of the project, newest first, with revoked ones."""
        request = Request(method="GET", path=path_of("projects", project_id, "access-credentials"))
        return self._pages(AccessCredential, request)


class AllocationsCalls(Calls):
    def create(self, project_id: str, new: NewAllocation, *, generation: int | None = None) -> Sequence[Allocation]:
        """Create one or more allocations of GPUs. The GPUs are claimed now; provisioning follows (watch the events or the
        timeline)."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations"),
            body=object_of(new),
            headers=if_match(generation),
        )
        return self._items(Allocation, request)

    def force_cleanup(
        self, project_id: str, allocation_id: str, reason: str, evidence: str, *, generation: int | None = None
    ) -> Allocation:
        """Return slots whose wipe is not proven to the pool. A person takes responsibility; the record says *not verified*
        permanently."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "force-cleanup"),
            body=body_of({"reason": reason, "evidence": evidence}, {}),
            headers=if_match(generation),
        )
        return self._read(Allocation, request)

    def release(
        self, project_id: str, allocation_id: str, *, reason: str | None = None, generation: int | None = None
    ) -> Allocation:
        """Request the release of an allocation: its access ends, then its GPUs are wiped, then the wipe is proven. It can be
        repeated."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "release"),
            body=body_of({}, {"reason": reason}),
            headers=if_match(generation),
        )
        return self._read(Allocation, request)

    def replace(
        self, project_id: str, allocation_id: str, *, reason: str | None = None, generation: int | None = None
    ) -> Allocation:
        """Claim the same GPUs on another host and release this allocation, both or neither. The answer is the new allocation."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "replace"),
            body=body_of({}, {"reason": reason}),
            headers=if_match(generation),
        )
        return self._read(Allocation, request)

    def retry_release(self, project_id: str, allocation_id: str, *, generation: int | None = None) -> Allocation:
        """Retry a release that failed: deprovision, wipe and verification start again from the beginning."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "retry-release"),
            headers=if_match(generation),
        )
        return self._read(Allocation, request)

    def show(self, project_id: str, allocation_id: str) -> Allocation:
        """Show an allocation: its state, how to log in once it is active, and why it failed if it did."""
        request = Request(method="GET", path=path_of("projects", project_id, "allocations", allocation_id))
        return self._read(Allocation, request)

    def timeline(self, project_id: str, allocation_id: str) -> Timeline:
        """Show every state of the allocation and every phase on its host, with times, failures and the evidence of the wipe."""
        request = Request(method="GET", path=path_of("projects", project_id, "allocations", allocation_id, "timeline"))
        return self._read(Timeline, request)

    def topology(self, project_id: str, allocation_id: str) -> Topology:
        """Show the GPUs of the allocation's host, their links, and which of them the allocation has (or had until it ended)."""
        request = Request(method="GET", path=path_of("projects", project_id, "allocations", allocation_id, "topology"))
        return self._read(Topology, request)

    def list(
        self, project_id: str | None = None, *, node_id: str | None = None, state: str | None = None
    ) -> Pages[Allocation]:
        """List the allocations of the project, newest first, with ended ones. `state` filters.

        List the allocations of all projects, for operators."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "allocations") if project_id is not None else path_of("allocations"),
            query={"state": state, "node_id": node_id},
        )
        return self._pages(Allocation, request)


class AppUsageCalls(Calls):
    def totals(
        self,
        project_id: str,
        *,
        first_day: str | None = None,
        instance_id: str | None = None,
        last_day: str | None = None,
    ) -> Pages[UsageTotal]:
        """Show the sums of usage that ended within a range of days, for each instance and metric."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "app-usage", "totals"),
            query={"first_day": first_day, "instance_id": instance_id, "last_day": last_day},
        )
        return self._pages(UsageTotal, request)

    def list(
        self,
        project_id: str,
        *,
        before: datetime | None = None,
        instance_id: str | None = None,
        since: datetime | None = None,
    ) -> Pages[UsageRecord]:
        """List the app usage of this project, in instances of any project. The latest end comes first."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "app-usage"),
            query={"before": before, "instance_id": instance_id, "since": since},
        )
        return self._pages(UsageRecord, request)


class AppVersionsCalls(Calls):
    def activate(self, project_id: str, app_id: str, version_id: str, *, generation: int | None = None) -> AppVersion:
        """Activate a version, so that it can be launched. Its artifact must be active and not revoked."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "apps", app_id, "versions", version_id, "activate"),
            headers=if_match(generation),
        )
        return self._read(AppVersion, request)

    def canary(
        self, project_id: str, app_id: str, version_id: str, percent: int, *, generation: int | None = None
    ) -> AppVersion:
        """Make a version the canary of some projects, or change their percentage. To promote it, activate it."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "apps", app_id, "versions", version_id, "canary"),
            body=body_of({"percent": percent}, {}),
            headers=if_match(generation),
        )
        return self._read(AppVersion, request)

    def deprecate(
        self,
        project_id: str,
        app_id: str,
        version_id: str,
        notice: str,
        *,
        retire_at: datetime | None = None,
        generation: int | None = None,
    ) -> AppVersion:
        """Deprecate a version. No new instance can use it; running instances continue and show the notice."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "apps", app_id, "versions", version_id, "deprecate"),
            body=body_of({"notice": notice}, {"retire_at": retire_at}),
            headers=if_match(generation),
        )
        return self._read(AppVersion, request)

    def register(self, project_id: str, manifest: str, *, generation: int | None = None) -> AppVersion:
        """Register a draft of an app version from its manifest. The same content again returns the same version."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "app-versions"),
            body=body_of({"manifest": manifest}, {}),
            headers=if_match(generation),
        )
        return self._read(AppVersion, request)

    def retire(
        self, project_id: str, app_id: str, version_id: str, reason: str, *, generation: int | None = None
    ) -> AppVersion:
        """Retire a draft, or a deprecated version that no instance runs and whose announced day has come."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "apps", app_id, "versions", version_id, "retire"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(AppVersion, request)

    def show(self, project_id: str, app_id: str, version_id: str) -> AppVersionDetail:
        """Show a version with its whole manifest."""
        request = Request(method="GET", path=path_of("projects", project_id, "apps", app_id, "versions", version_id))
        return self._read(AppVersionDetail, request)

    def smoke(
        self,
        project_id: str,
        app_id: str,
        version_id: str,
        placement_intent: Sequence[Placement | Mapping[str, object]],
        *,
        deadline_seconds: int | None = None,
        inputs: Mapping[str, object] | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Have the platform launch the version on these allocations, wait until its hosts say that it is ready, and remove it
        again. The outcome becomes `smoke` evidence of its artifacts, with the operation that showed it. A draft is put on trial."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "apps", app_id, "versions", version_id, "smoke"),
            body=body_of(
                {"placement_intent": placement_intent}, {"deadline_seconds": deadline_seconds, "inputs": inputs}
            ),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def trial(self, project_id: str, app_id: str, version_id: str, *, generation: int | None = None) -> AppVersion:
        """Let this project, which publishes the draft, launch it by its version before its artifacts are active. Nobody else can.
        Trust is required as always: nothing that is revoked, or that the tenant's policy does not trust, is launched."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "apps", app_id, "versions", version_id, "trial"),
            headers=if_match(generation),
        )
        return self._read(AppVersion, request)

    def list(self, project_id: str, app_id: str) -> Pages[AppVersion]:
        """List the versions of the app, the highest first, with drafts and retired ones."""
        request = Request(method="GET", path=path_of("projects", project_id, "apps", app_id, "versions"))
        return self._pages(AppVersion, request)


class AppsCalls(Calls):
    def entitlements(self, app_id: str) -> Pages[Entitlement]:
        """List the tenants that are entitled to the app."""
        request = Request(method="GET", path=path_of("apps", app_id, "entitlements"))
        return self._pages(Entitlement, request)

    def rollback(self, project_id: str, app_id: str, reason: str, *, generation: int | None = None) -> AppVersion:
        """Roll back the app's canary. Without a canary, launches return to the version from before the last promotion."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "apps", app_id, "rollback"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(AppVersion, request)

    def set_visibility(self, app_id: str, visibility: str, reason: str, *, generation: int | None = None) -> App:
        """Set which tenants see the app in their catalogue. Running instances are not affected."""
        request = Request(
            method="PUT",
            path=path_of("apps", app_id, "visibility"),
            body=body_of({"visibility": visibility, "reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(App, request)

    def show(self, project_id: str, app_id: str) -> App:
        """Show an app as its publishers see it. To launch an app, look at the catalogue."""
        request = Request(method="GET", path=path_of("projects", project_id, "apps", app_id))
        return self._read(App, request)

    def list(self, project_id: str | None = None) -> Pages[App]:
        """List the apps that the project publishes.

        List every app on the platform."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "apps") if project_id is not None else path_of("apps")
        )
        return self._pages(App, request)


class ArtifactsCalls(Calls):
    def add_evidence(
        self,
        project_id: str,
        artifact_id: str,
        kind: str,
        passed: bool,
        tool: str,
        summary: str,
        *,
        development: bool | None = None,
        generation: int | None = None,
    ) -> Evidence:
        """Record the result of your own lint or smoke test. It is shown as yours. `staged` needs the platform's own lint, a smoke
        test of yours or the platform's, and, where the tenant's trust policy requires it, a smoke launch by the platform."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "artifacts", artifact_id, "evidence"),
            body=body_of(
                {"kind": kind, "passed": passed, "tool": tool, "summary": summary}, {"development": development}
            ),
            headers=if_match(generation),
        )
        return self._read(Evidence, request)

    def collect_garbage(
        self, project_id: str, reason: str, *, after: str | None = None, generation: int | None = None
    ) -> ArtifactCollection:
        """Delete artifacts that nothing refers to and whose grace period is over, with their bytes, permanently."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "artifact-garbage", "collect"),
            body=body_of({"reason": reason}, {"after": after}),
            headers=if_match(generation),
        )
        return self._read(ArtifactCollection, request)

    def content(self, project_id: str, artifact_id: str) -> Iterator[bytes]:
        """Download a blob. Compare the bytes with the digest. `Range: bytes=N-` continues after N bytes."""
        request = Request(method="GET", path=path_of("projects", project_id, "artifacts", artifact_id, "content"))
        return self._bytes(request)

    def delete(self, project_id: str, artifact_id: str, *, generation: int | None = None) -> Artifact:
        """Delete the artifact with its bytes, permanently. This is refused while an app version or an instance refers to it. The
        artifact is listed as `deleting` until its bytes are removed; then its quota is free again."""
        request = Request(
            method="DELETE",
            path=path_of("projects", project_id, "artifacts", artifact_id),
            headers=if_match(generation),
        )
        return self._read(Artifact, request)

    def evidence(self, project_id: str, artifact_id: str) -> Pages[Evidence]:
        """List the results of lint and smoke runs of the artifact, newest first."""
        request = Request(method="GET", path=path_of("projects", project_id, "artifacts", artifact_id, "evidence"))
        return self._pages(Evidence, request)

    def garbage(self, project_id: str) -> Pages[GarbageArtifact]:
        """List what a collection would remove: artifacts that no app version and no instance refers to, with reason, time and
        bytes. Nothing is changed. Active, canary and revoked artifacts are never listed."""
        request = Request(method="GET", path=path_of("projects", project_id, "artifact-garbage"))
        return self._pages(GarbageArtifact, request)

    def move(
        self,
        project_id: str,
        artifact_id: str,
        stage: str,
        reason: str,
        *,
        canary_percent: int | None = None,
        generation: int | None = None,
    ) -> Artifact:
        """Move an artifact to the next stage, change the percentage of a canary, or move a canary back to staged."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "artifacts", artifact_id, "move"),
            body=body_of({"stage": stage, "reason": reason}, {"canary_percent": canary_percent}),
            headers=if_match(generation),
        )
        return self._read(Artifact, request)

    def pull_secret(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        recipient_key: str,
        *,
        digest: str | None = None,
        purpose: str | None = None,
        generation: int | None = None,
    ) -> RuntimeSecret:
        """Create a secret with which the hosts of this operation pull its artifact. It is valid for minutes, for this artifact
        only, and sealed to you."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "runtime-secrets"),
            body=body_of(
                {"lease_token": lease_token, "recipient_key": recipient_key}, {"digest": digest, "purpose": purpose}
            ),
            headers=if_match(generation),
        )
        return self._read(RuntimeSecret, request)

    def registry_token(
        self,
        *,
        account: str | None = None,
        client_id: str | None = None,
        offline_token: str | None = None,
        scope: Sequence[str] | None = None,
        service: str | None = None,
    ) -> RegistryToken:
        """Get a registry token, valid for five minutes, for what the caller may do. Sign in as `token` with an access token, as a
        service account with its key, or with a runtime secret. Access that is not allowed is left out of the token. So is a push
        to a repository without an open publish intent and without an image; a push is refused when the quota of bytes is used up."""
        request = Request(
            method="GET",
            path=path_of("registry", "token"),
            query={
                "account": account,
                "client_id": client_id,
                "offline_token": offline_token,
                "scope": scope,
                "service": service,
            },
        )
        return self._read(RegistryToken, request)

    def revoke(self, project_id: str, artifact_id: str, reason: str, *, generation: int | None = None) -> Artifact:
        """Revoke an artifact: new launches are refused and running instances are flagged. It cannot be undone; publish a new
        artifact."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "artifacts", artifact_id, "revoke"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(Artifact, request)

    def show(self, project_id: str, artifact_id: str) -> Artifact:
        """Show an artifact: what it is, its stage, and whether it is trusted and why."""
        request = Request(method="GET", path=path_of("projects", project_id, "artifacts", artifact_id))
        return self._read(Artifact, request)

    def verify(
        self,
        project_id: str,
        artifact_id: str,
        *,
        signatures: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> Artifact:
        """Check bytes and signatures again. `checking` is true meanwhile; `trust` has the result."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "artifacts", artifact_id, "verify"),
            body=body_of({}, {"signatures": signatures}),
            headers=if_match(generation),
        )
        return self._read(Artifact, request)

    def list(self, project_id: str, *, digest: str | None = None, stage: str | None = None) -> Pages[Artifact]:
        """List the artifacts of the project, newest first, in every stage. `stage` and `digest` filter."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "artifacts"), query={"digest": digest, "stage": stage}
        )
        return self._pages(Artifact, request)


class AuditCalls(Calls):
    def retention(self) -> Sequence[RetentionPeriod]:
        """Show for how many days the platform keeps audit records, events and other records."""
        request = Request(method="GET", path=path_of("retention"))
        return self._items(RetentionPeriod, request)

    def list(
        self,
        *,
        project_id: str | None = None,
        tenant_id: str | None = None,
        action: str | None = None,
        actor_id: str | None = None,
        before: datetime | None = None,
        correlation_id: str | None = None,
        outcome: str | None = None,
        resource_id: str | None = None,
        since: datetime | None = None,
        source: str | None = None,
    ) -> Pages[AuditRecord]:
        """List the audit records of the project, newest first, with refused attempts.

        List the audit records of the tenant and its projects, newest first, with refused attempts.

        List the audit records of the whole platform, newest first, with refused attempts. For platform roles."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "audit")
            if project_id is not None
            else path_of("tenants", tenant_id, "audit")
            if tenant_id is not None
            else path_of("audit"),
            query={
                "action": action,
                "actor_id": actor_id,
                "before": before,
                "correlation_id": correlation_id,
                "outcome": outcome,
                "resource_id": resource_id,
                "since": since,
                "source": source,
            },
        )
        return self._pages(AuditRecord, request)


class CatalogCalls(Calls):
    def set_channel(self, project_id: str, slug: str, channel: str, *, generation: int | None = None) -> CatalogChannel:
        """Choose which versions of an app this project gets: stable ones, the canary, or what the hash says."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "catalog", slug, "channel"),
            body=body_of({"channel": channel}, {}),
            headers=if_match(generation),
        )
        return self._read(CatalogChannel, request)

    def show(self, project_id: str, slug: str, *, version: str | None = None) -> CatalogEntry:
        """Show an app of the catalogue, with the manifest of the named version or of the newest active one."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "catalog", slug), query={"version": version}
        )
        return self._read(CatalogEntry, request)

    def list(self, project_id: str, *, search: str | None = None) -> Pages[CatalogApp]:
        """List the apps that this project may launch."""
        request = Request(method="GET", path=path_of("projects", project_id, "catalog"), query={"search": search})
        return self._pages(CatalogApp, request)


class ControllerCalls(Calls):
    def claim(
        self, project_id: str, operation_id: str, replica: str, *, generation: int | None = None
    ) -> ClaimedOperation:
        """Claim an operation, as its controller. The lease is yours while you report; nobody else gets it until it lapses."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "claim"),
            body=body_of({"replica": replica}, {}),
            headers=if_match(generation),
        )
        return self._read(ClaimedOperation, request)

    def complete(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        *,
        access_bundle: Mapping[str, object] | None = None,
        members: Sequence[MemberReport | Mapping[str, object]] | None = None,
        mode: Mode | Mapping[str, object] | None = None,
        runtime: Mapping[str, object] | None = None,
        runtime_kept: Sequence[str] | None = None,
        steps: Sequence[StepReport | Mapping[str, object]] | None = None,
        generation: int | None = None,
    ) -> Operation:
        """Report that the operation is done. After a teardown it stays running until the hosts are proven clean."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "complete"),
            body=body_of(
                {"lease_token": lease_token},
                {
                    "access_bundle": access_bundle,
                    "members": members,
                    "mode": mode,
                    "runtime": runtime,
                    "runtime_kept": runtime_kept,
                    "steps": steps,
                },
            ),
            headers=if_match(generation),
        )
        return self._read(Operation, request)

    def fail(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        failure: FailureReport | Mapping[str, object],
        *,
        members: Sequence[MemberReport | Mapping[str, object]] | None = None,
        steps: Sequence[StepReport | Mapping[str, object]] | None = None,
        generation: int | None = None,
    ) -> Operation:
        """Report that the operation failed, why, and what to do next. After a request to cancel, it ends as `cancelled`."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "fail"),
            body=body_of({"lease_token": lease_token, "failure": failure}, {"members": members, "steps": steps}),
            headers=if_match(generation),
        )
        return self._read(Operation, request)

    def give_back(
        self, project_id: str, operation_id: str, lease_token: str, *, generation: int | None = None
    ) -> Operation:
        """Give an operation back when a replica shuts down. Another replica resumes it immediately."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "give-back"),
            body=body_of({"lease_token": lease_token}, {}),
            headers=if_match(generation),
        )
        return self._read(Operation, request)

    def heartbeat(
        self,
        project_id: str,
        app: str,
        replica: str,
        *,
        stopping: bool | None = None,
        version: str | None = None,
        generation: int | None = None,
    ) -> HeartbeatAccepted:
        """Report that a replica of this controller is alive. Without one, launches of its app get `no_controller`."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "controller", "heartbeat"),
            body=body_of({"app": app, "replica": replica}, {"stopping": stopping, "version": version}),
            headers=if_match(generation),
        )
        return self._read(HeartbeatAccepted, request)

    def instances(self, project_id: str, *, app: str | None = None) -> Pages[ServedInstance]:
        """List the running instances that this controller serves, oldest first: of its project and of tenants that consent."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "controller", "instances"), query={"app": app}
        )
        return self._pages(ServedInstance, request)

    def poll(
        self,
        project_id: str,
        *,
        claimed: bool | None = None,
        replica: str | None = None,
        wait: int | None = None,
        without_tenant: Sequence[str] | None = None,
    ) -> Sequence[WorkItem]:
        """List the operations that no controller works on, of this project and of tenants that consent, in turns. Only apps that
        the service account is bound to are listed."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "controller", "work"),
            query={"claimed": claimed, "replica": replica, "wait": wait, "without_tenant": without_tenant},
            timeout=wait_timeout(wait),
        )
        return self._items(WorkItem, request)

    def report(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        *,
        expected_runtime: Mapping[str, object] | None = None,
        progress: ProgressReport | Mapping[str, object] | None = None,
        runtime: Mapping[str, object] | None = None,
        steps: Sequence[StepReport | Mapping[str, object]] | None = None,
        generation: int | None = None,
    ) -> LeaseRenewed:
        """Report steps and progress, and a runtime to keep whatever comes. Each report renews the lease, even an empty one."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "report"),
            body=body_of(
                {"lease_token": lease_token},
                {"expected_runtime": expected_runtime, "progress": progress, "runtime": runtime, "steps": steps},
            ),
            headers=if_match(generation),
        )
        return self._read(LeaseRenewed, request)

    def report_health(
        self,
        project_id: str,
        instance_id: str,
        generation: int,
        *,
        access_bundle: Mapping[str, object] | None = None,
        expected_runtime: Mapping[str, object] | None = None,
        members: Sequence[MemberHealth | Mapping[str, object]] | None = None,
        mode: Mode | Mapping[str, object] | None = None,
        reasons: Sequence[ReasonReport | Mapping[str, object]] | None = None,
        runtime: Mapping[str, object] | None = None,
        status: str | None = None,
    ) -> HealthAccepted:
        """Report the health of an instance, as its controller, on its own schedule. Members and operations count too: see the
        answer."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "instances", instance_id, "health"),
            body=body_of(
                {"generation": generation},
                {
                    "access_bundle": access_bundle,
                    "expected_runtime": expected_runtime,
                    "members": members,
                    "mode": mode,
                    "reasons": reasons,
                    "runtime": runtime,
                    "status": status,
                },
            ),
        )
        return self._read(HealthAccepted, request)

    def report_usage(
        self,
        project_id: str,
        instance_id: str,
        records: Sequence[UsageReport | Mapping[str, object]],
        *,
        generation: int | None = None,
    ) -> UsageReported:
        """Report usage, as the app's controller. A repetition adds nothing, so repeat the report until it is accepted."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "usage"),
            body=body_of({"records": records}, {}),
            headers=if_match(generation),
        )
        return self._read(UsageReported, request)

    def usage_access(
        self,
        project_id: str,
        instance_id: str,
        public_key: str,
        *,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> UsageAccess:
        """Sign SSH certificates that let the app's controller read what the instance's hosts have counted, and nothing else.
        They last minutes."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "usage-access"),
            body=body_of({"public_key": public_key}, {"source_addresses": source_addresses}),
            headers=if_match(generation),
        )
        return self._read(UsageAccess, request)


class ControllerBindingsCalls(Calls):
    def create(
        self, project_id: str, app: str, service_account_id: str, *, generation: int | None = None
    ) -> ControllerBinding:
        """Bind an app of this project to one of its service accounts, which then controls it for every tenant that consents."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "controller-bindings"),
            body=body_of({"app": app, "service_account_id": service_account_id}, {}),
            headers=if_match(generation),
        )
        return self._read(ControllerBinding, request)

    def delete(self, project_id: str, controller_binding_id: str, *, generation: int | None = None) -> None:
        """Delete a controller binding. The service account serves no other tenant with this app; its leases there end."""
        request = Request(
            method="DELETE",
            path=path_of("projects", project_id, "controller-bindings", controller_binding_id),
            headers=if_match(generation),
        )
        self._discard(request)

    def list(self, project_id: str) -> Pages[ControllerBinding]:
        """List the controller bindings of the project's apps, newest first."""
        request = Request(method="GET", path=path_of("projects", project_id, "controller-bindings"))
        return self._pages(ControllerBinding, request)


class ControllerConsentsCalls(Calls):
    def give(
        self,
        tenant_id: str,
        app: str,
        *,
        permissions: Sequence[str] | None = None,
        project_ids: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> ControllerConsent:
        """Let the controller of an app work in the tenant's projects. A repeated consent replaces the earlier one."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "controller-consents"),
            body=body_of({"app": app}, {"permissions": permissions, "project_ids": project_ids}),
            headers=if_match(generation),
        )
        return self._read(ControllerConsent, request)

    def withdraw(
        self, tenant_id: str, controller_consent_id: str, *, reason: str | None = None, generation: int | None = None
    ) -> ControllerConsent:
        """Withdraw a consent, at once: the controller sees nothing of the tenant, its leases end, and its access is revoked."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "controller-consents", controller_consent_id, "withdraw"),
            body=body_of({}, {"reason": reason}),
            headers=if_match(generation),
        )
        return self._read(ControllerConsent, request)

    def list(self, tenant_id: str) -> Pages[ControllerConsent]:
        """List the consents of the tenant, newest first, withdrawn ones too."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "controller-consents"))
        return self._pages(ControllerConsent, request)


class ControllerKindBindingsCalls(Calls):
    def create(
        self, project_id: str, artifact_kind: str, service_account_id: str, *, generation: int | None = None
    ) -> ControllerKindBinding:
        """Bind a kind of artifact to a service account of the platform, which then serves every app of the kind that has no
        binding of its own, for every tenant that consents."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "controller-kind-bindings"),
            body=body_of({"artifact_kind": artifact_kind, "service_account_id": service_account_id}, {}),
            headers=if_match(generation),
        )
        return self._read(ControllerKindBinding, request)

    def delete(self, project_id: str, controller_kind_binding_id: str, *, generation: int | None = None) -> None:
        """Delete a kind binding. Its service account serves none of these apps any more; its leases there end."""
        request = Request(
            method="DELETE",
            path=path_of("projects", project_id, "controller-kind-bindings", controller_kind_binding_id),
            headers=if_match(generation),
        )
        self._discard(request)

    def list(self, project_id: str) -> Pages[ControllerKindBinding]:
        """List the kinds of artifacts that service accounts of the project are bound to, newest first."""
        request = Request(method="GET", path=path_of("projects", project_id, "controller-kind-bindings"))
        return self._pages(ControllerKindBinding, request)


class ControllerOffersCalls(Calls):
    def list(self, tenant_id: str, *, app: str | None = None) -> Pages[ControllerOffer]:
        """List the apps whose publisher runs a controller, what it could do here, and what the tenant consents to."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "controller-offers"), query={"app": app})
        return self._pages(ControllerOffer, request)


class ControllerReplicasCalls(Calls):
    def list(self, project_id: str) -> Sequence[ControllerReplica]:
        """List the replicas of the project's controllers that were seen within a day, the last one first."""
        request = Request(method="GET", path=path_of("projects", project_id, "controller-replicas"))
        return self._items(ControllerReplica, request)


class DeletionsCalls(Calls):
    def list(self, *, stuck: bool | None = None) -> Pages[Deletion]:
        """List the deletions of tenants and projects that have not ended, newest first: what each waits for, and the next step."""
        request = Request(method="GET", path=path_of("deletions"), query={"stuck": stuck})
        return self._pages(Deletion, request)


class EnrolmentTokensCalls(Calls):
    def create(
        self,
        *,
        expires_in_seconds: int | None = None,
        max_uses: int | None = None,
        note: str | None = None,
        generation: int | None = None,
    ) -> EnrolmentTokenCreated:
        """Create an enrolment bundle for new hosts. It is shown once."""
        request = Request(
            method="POST",
            path=path_of("enrolment-tokens"),
            body=body_of({}, {"expires_in_seconds": expires_in_seconds, "max_uses": max_uses, "note": note}),
            headers=if_match(generation),
        )
        return self._read(EnrolmentTokenCreated, request)

    def revoke(self, token_id: str, *, generation: int | None = None) -> None:
        """Revoke an enrolment token. No further host can enrol with it; hosts that have enrolled stay."""
        request = Request(method="DELETE", path=path_of("enrolment-tokens", token_id), headers=if_match(generation))
        self._discard(request)

    def list(self) -> Pages[EnrolmentToken]:
        """List the enrolment tokens, newest first, with their uses and their expiry."""
        request = Request(method="GET", path=path_of("enrolment-tokens"))
        return self._pages(EnrolmentToken, request)


class EntitlementsCalls(Calls):
    def grant(
        self, tenant_id: str, app: str, *, consent: str | None = None, generation: int | None = None
    ) -> Entitlement:
        """Let a tenant launch an app whose visibility is `entitled`. It can be repeated."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "entitlements"),
            body=body_of({"app": app}, {"consent": consent}),
            headers=if_match(generation),
        )
        return self._read(Entitlement, request)

    def revoke(self, tenant_id: str, entitlement_id: str, *, generation: int | None = None) -> None:
        """Revoke an entitlement. The app leaves the tenant's catalogue; running instances continue."""
        request = Request(
            method="DELETE",
            path=path_of("tenants", tenant_id, "entitlements", entitlement_id),
            headers=if_match(generation),
        )
        self._discard(request)

    def list(self, tenant_id: str) -> Pages[Entitlement]:
        """List the apps that the tenant is entitled to."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "entitlements"))
        return self._pages(Entitlement, request)


class EventsCalls(Calls):
    def page(
        self,
        project_id: str | None = None,
        *,
        after: str | None = None,
        limit: int | None = None,
        subject: str | None = None,
        tail: int | None = None,
        wait: int | None = None,
    ) -> EventPage:
        """List the events of a project, oldest first. With `Accept: text/event-stream` the answer is an endless stream.

        List the events of the whole platform, for operators."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "events") if project_id is not None else path_of("events"),
            query={"after": after, "limit": limit, "subject": subject, "tail": tail, "wait": wait},
            timeout=wait_timeout(wait),
        )
        return self._read(EventPage, request)


class HostReportsCalls(Calls):
    def clear(self, host_report_id: str, reason: str, *, generation: int | None = None) -> HostReport:
        """Clear the report of a broken host after looking at it. GPUs that the report kept out of the pool return to it."""
        request = Request(
            method="POST",
            path=path_of("host-reports", host_report_id, "clear"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(HostReport, request)

    def create(self, project_id: str, allocation_id: str, reason: str, *, generation: int | None = None) -> HostReport:
        """Report the host of an allocation as broken. After its release, operators examine it before it is allocated again."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "host-reports"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(HostReport, request)

    def list(self, *, cleared: bool | None = None, node_id: str | None = None) -> Pages[HostReport]:
        """List the hosts that tenants reported as broken, newest first."""
        request = Request(method="GET", path=path_of("host-reports"), query={"cleared": cleared, "node_id": node_id})
        return self._pages(HostReport, request)


class InstancesCalls(Calls):
    def change_members(
        self, project_id: str, instance_id: str, new: NewMemberOperation, *, generation: int | None = None
    ) -> Operation:
        """Add, drain, remove, replace or recover members. For several members the answer is the bulk operation."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "member-operations"),
            body=object_of(new),
            headers=if_match(generation),
        )
        return self._read(Operation, request)

    def create(self, project_id: str, new: NewInstance, *, generation: int | None = None) -> InstanceStarted:
        """Launch an app on allocations of the project. The answer names the deploy operation to follow."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances"),
            body=object_of(new),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def decommission(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Remove the app from all hosts, with a receipt for each, and end the instance. Its history stays."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "decommission"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def deploy(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Deploy again, after a first deployment that failed."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "deploy"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def member(self, project_id: str, instance_id: str, member_id: str) -> InstanceMember:
        """Show a member: its status and why, its allocation and node, and the operation that works on it."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "instances", instance_id, "members", member_id)
        )
        return self._read(InstanceMember, request)

    def members(self, project_id: str, instance_id: str, *, removed: bool | None = None) -> Pages[InstanceMember]:
        """List the members in the order in which they joined. `removed` includes those that were removed."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "instances", instance_id, "members"),
            query={"removed": removed},
        )
        return self._pages(InstanceMember, request)

    def reconcile(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Bring all members in line with the inputs. What is already right is not touched."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "reconcile"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def remove_served_project(
        self, project_id: str, instance_id: str, served_project_id: str, *, generation: int | None = None
    ) -> ServedProjectChanged:
        """Stop serving a project. Its members must be removed first; its usage stays recorded."""
        request = Request(
            method="DELETE",
            path=path_of("projects", project_id, "instances", instance_id, "served-projects", served_project_id),
            headers=if_match(generation),
        )
        return self._read(ServedProjectChanged, request)

    def repair(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Let the app's controller repair what is broken. Members that work are left alone."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "repair"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def restart(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Stop and start all members in one operation. The hosts are not inspected in between."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "restart"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def rollback(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Return to the version before the last upgrade, or, after a failed upgrade, to the version that it began from."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "rollback"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def rotate_secret(
        self,
        project_id: str,
        instance_id: str,
        secret_name: str,
        *,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceSecretChanged:
        """Have a generated secret made anew. A reconcile makes it and brings it to the members."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "secrets", secret_name, "rotate"),
            body=body_of({}, {"reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceSecretChanged, request)

    def secrets(self, project_id: str, instance_id: str) -> InstanceSecrets:
        """List the secrets of an instance: names, versions and times. Values are never shown."""
        request = Request(method="GET", path=path_of("projects", project_id, "instances", instance_id, "secrets"))
        return self._read(InstanceSecrets, request)

    def served_projects(self, project_id: str, instance_id: str) -> ServedProjects:
        """List the projects that the instance serves. People of each find it in their own project, with their own usage."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "instances", instance_id, "served-projects")
        )
        return self._read(ServedProjects, request)

    def set_secret(
        self,
        project_id: str,
        instance_id: str,
        secret_name: str,
        value: str,
        *,
        encoding: str | None = None,
        generation: int | None = None,
    ) -> InstanceSecretChanged:
        """Give a secret its value. It is sealed at once and never shown; a reconcile brings it to the members."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "instances", instance_id, "secrets", secret_name),
            body=body_of({"value": value}, {"encoding": encoding}),
            headers=if_match(generation),
        )
        return self._read(InstanceSecretChanged, request)

    def set_served_project(
        self, project_id: str, instance_id: str, served_project_id: str, *, generation: int | None = None
    ) -> ServedProjectChanged:
        """Serve a further project of the tenant. You must administer both; a running instance is reconciled immediately."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "instances", instance_id, "served-projects", served_project_id),
            headers=if_match(generation),
        )
        return self._read(ServedProjectChanged, request)

    def show(self, project_id: str, instance_id: str) -> Instance:
        """Show an instance: its inputs, what its controller reports, its health, and what can be requested next."""
        request = Request(method="GET", path=path_of("projects", project_id, "instances", instance_id))
        return self._read(Instance, request)

    def start(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Start again after a stop or a failure, on the same members and version."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "start"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def stop(
        self,
        project_id: str,
        instance_id: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Stop all members and keep their files. The platform inspects the hosts for proof."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "stop"),
            body=body_of({}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def timeline(
        self,
        project_id: str,
        instance_id: str,
        *,
        after: str | None = None,
        limit: int | None = None,
        wait: int | None = None,
    ) -> InstanceTimeline:
        """Show what happened to the instance, its members and operations, oldest first. With `wait` the call waits for news."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "instances", instance_id, "timeline"),
            query={"after": after, "limit": limit, "wait": wait},
            timeout=wait_timeout(wait),
        )
        return self._read(InstanceTimeline, request)

    def update(
        self, project_id: str, instance_id: str, reconcile_policy: str, *, generation: int | None = None
    ) -> Instance:
        """Set what the platform does when members of the instance drift. Attempts that had stopped start again."""
        request = Request(
            method="PATCH",
            path=path_of("projects", project_id, "instances", instance_id),
            body=body_of({"reconcile_policy": reconcile_policy}, {}),
            headers=if_match(generation),
        )
        return self._read(Instance, request)

    def upgrade(
        self,
        project_id: str,
        instance_id: str,
        version: str,
        *,
        deadline_seconds: int | None = None,
        options: Mapping[str, object] | None = None,
        reason: str | None = None,
        generation: int | None = None,
    ) -> InstanceStarted:
        """Change to another version of the app. The version before stays known for a rollback."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "instances", instance_id, "upgrade"),
            body=body_of(
                {"version": version}, {"deadline_seconds": deadline_seconds, "options": options, "reason": reason}
            ),
            headers=if_match(generation),
        )
        return self._read(InstanceStarted, request)

    def list(
        self,
        project_id: str,
        *,
        allocation_id: str | None = None,
        app: str | None = None,
        health: str | None = None,
        served: bool | None = None,
        status: str | None = None,
    ) -> Pages[InstanceSummary]:
        """List the instances of the project, newest first, with decommissioned ones. The other parameters filter."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "instances"),
            query={"allocation_id": allocation_id, "app": app, "health": health, "served": served, "status": status},
        )
        return self._pages(InstanceSummary, request)


class LogsCalls(Calls):
    def read(
        self,
        project_id: str,
        instance_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        member: str | None = None,
        order: str | None = None,
        since: datetime | None = None,
        source: str | None = None,
        until: datetime | None = None,
    ) -> LogPage:
        """Read the lines that a member's units wrote to its host's journal. With `Accept: text/event-stream` the answer follows:
        the newest `limit` lines, or those after `cursor`, and then each line as it is written."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "instances", instance_id, "logs"),
            query={
                "cursor": cursor,
                "limit": limit,
                "member": member,
                "order": order,
                "since": since,
                "source": source,
                "until": until,
            },
        )
        return self._read(LogPage, request)


class MaintenanceWindowsCalls(Calls):
    def cancel(self, maintenance_window_id: str, reason: str, *, generation: int | None = None) -> MaintenanceWindow:
        """Cancel a maintenance window that has not begun. The projects are notified, and a cordon that the window made ends."""
        request = Request(
            method="POST",
            path=path_of("maintenance-windows", maintenance_window_id, "cancel"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(MaintenanceWindow, request)

    def end(self, maintenance_window_id: str, *, generation: int | None = None) -> MaintenanceWindow:
        """End a maintenance window early. The host takes allocations again, unless it is cordoned for another reason."""
        request = Request(
            method="POST",
            path=path_of("maintenance-windows", maintenance_window_id, "end"),
            headers=if_match(generation),
        )
        return self._read(MaintenanceWindow, request)

    def plan(
        self,
        node_id: str,
        starts_at: datetime,
        ends_at: datetime,
        reason: str,
        *,
        cordon_from_now: bool | None = None,
        generation: int | None = None,
    ) -> MaintenanceWindow:
        """Announce maintenance of a host to the projects on it. The host is cordoned when it begins and takes allocations again
        after it."""
        request = Request(
            method="POST",
            path=path_of("nodes", node_id, "maintenance-windows"),
            body=body_of(
                {"starts_at": starts_at, "ends_at": ends_at, "reason": reason}, {"cordon_from_now": cordon_from_now}
            ),
            headers=if_match(generation),
        )
        return self._read(MaintenanceWindow, request)

    def list(self, *, node_id: str | None = None, state: str | None = None) -> Pages[MaintenanceWindow]:
        """List the maintenance windows of hosts, newest first: planned, active and ended."""
        request = Request(method="GET", path=path_of("maintenance-windows"), query={"node_id": node_id, "state": state})
        return self._pages(MaintenanceWindow, request)


class MeCalls(Calls):
    def change_password(self, current_password: str, new_password: str, *, generation: int | None = None) -> None:
        """Change your password. All your tokens end: sign in again."""
        request = Request(
            method="POST",
            path=path_of("me", "password"),
            body=body_of({"current_password": current_password, "new_password": new_password}, {}),
            headers=if_match(generation),
        )
        self._discard(request)

    def show(self) -> Me:
        """Show who you are to the platform: your roles, or a service account's scopes."""
        request = Request(method="GET", path=path_of("me"))
        return self._read(Me, request)


class NodesCalls(Calls):
    def cordon(self, node_id: str, reason: str, *, generation: int | None = None) -> Node:
        """Cordon a node: it takes no new allocation, and its allocations continue."""
        request = Request(
            method="POST",
            path=path_of("nodes", node_id, "cordon"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(Node, request)

    def discover(self, node_id: str, *, generation: int | None = None) -> Task:
        """Have the agent examine its hardware again. The answer is the task to watch."""
        request = Request(method="POST", path=path_of("nodes", node_id, "discover"), headers=if_match(generation))
        return self._read(Task, request)

    def drain(
        self, node_id: str, reason: str, *, starts_at: datetime | None = None, generation: int | None = None
    ) -> Node:
        """Cordon a node, notify its projects, and release its allocations after the notice. `drained` is true when nothing is
        claimed on it any more. Drain it again to move the time; uncordon it to cancel."""
        request = Request(
            method="POST",
            path=path_of("nodes", node_id, "drain"),
            body=body_of({"reason": reason}, {"starts_at": starts_at}),
            headers=if_match(generation),
        )
        return self._read(Node, request)

    def key_approve(self, node_id: str, reason: str, *, generation: int | None = None) -> Node:
        """Approve the expired key of a node whose agent was offline. The key is valid for one day, in which the agent renews it."""
        request = Request(
            method="POST",
            path=path_of("nodes", node_id, "key", "approve"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(Node, request)

    def retire(self, node_id: str, reason: str, *, generation: int | None = None) -> Node:
        """Retire a node without live claims, permanently. Its agent's key is refused from then on."""
        request = Request(
            method="POST",
            path=path_of("nodes", node_id, "retire"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(Node, request)

    def show(self, node_id: str) -> Node:
        """Show a host: whether it is alive, what is on it, and whether it takes new allocations."""
        request = Request(method="GET", path=path_of("nodes", node_id))
        return self._read(Node, request)

    def task(self, task_id: str) -> Task:
        """Show a host task: its specification, its phases, and the evidence."""
        request = Request(method="GET", path=path_of("tasks", task_id))
        return self._read(Task, request)

    def tasks(self, node_id: str) -> Pages[Task]:
        """List the tasks of a host, newest first, with what the host reported."""
        request = Request(method="GET", path=path_of("nodes", node_id, "tasks"))
        return self._pages(Task, request)

    def uncordon(self, node_id: str, *, generation: int | None = None) -> Node:
        """Let a node take new allocations again, if it is alive. This ends a drain too, and cancels a planned one."""
        request = Request(method="POST", path=path_of("nodes", node_id, "uncordon"), headers=if_match(generation))
        return self._read(Node, request)

    def update(
        self,
        node_id: str,
        *,
        address: str | None = None,
        erase_drives: bool | None = None,
        labels: Mapping[str, object] | None = None,
        name: str | None = None,
        source_networks: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> Node:
        """Change the name, the address or the labels of a node. No other node may have the address; labels replace all others."""
        request = Request(
            method="PATCH",
            path=path_of("nodes", node_id),
            body=body_of(
                {},
                {
                    "address": address,
                    "erase_drives": erase_drives,
                    "labels": labels,
                    "name": name,
                    "source_networks": source_networks,
                },
            ),
            headers=if_match(generation),
        )
        return self._read(Node, request)

    def list(self, *, status: str | None = None) -> Pages[Node]:
        """List the hosts of the platform, newest first, with retired ones. `status` filters."""
        request = Request(method="GET", path=path_of("nodes"), query={"status": status})
        return self._pages(Node, request)


class OperationsCalls(Calls):
    def cancel(
        self, project_id: str, operation_id: str, *, reason: str | None = None, generation: int | None = None
    ) -> Operation:
        """Cancel an operation. A pending one ends now; otherwise its controller is asked to stop (follow the operation)."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "cancel"),
            body=body_of({}, {"reason": reason}),
            headers=if_match(generation),
        )
        return self._read(Operation, request)

    def force(self, project_id: str, operation_id: str, reason: str, *, generation: int | None = None) -> Operation:
        """End a stuck operation, or accept a teardown that is not proven. The record says *not verified* permanently."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "force"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(Operation, request)

    def read_secrets(
        self, project_id: str, operation_id: str, lease_token: str, recipient_key: str, *, generation: int | None = None
    ) -> OperationSecrets:
        """Read the secrets of the operation's instance, sealed to you. Generated ones are made at the first read; in a rotation,
        those that it names are made anew."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "secrets"),
            body=body_of({"lease_token": lease_token, "recipient_key": recipient_key}, {}),
            headers=if_match(generation),
        )
        return self._read(OperationSecrets, request)

    def show(
        self, project_id: str, operation_id: str, *, newer_than: int | None = None, wait: int | None = None
    ) -> Operation:
        """Show an operation. To follow it, send the generation that you know and how long to wait for a newer one."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "operations", operation_id),
            query={"newer_than": newer_than, "wait": wait},
            timeout=wait_timeout(wait),
        )
        return self._read(Operation, request)

    def list(
        self,
        project_id: str | None = None,
        *,
        instance_id: str | None = None,
        parent_id: str | None = None,
        status: str | None = None,
    ) -> Pages[Operation]:
        """List the operations of the project, newest first. Filter by instance, by bulk operation or by status.

        List the operations of all projects, newest first, for operators. `status` filters."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "operations") if project_id is not None else path_of("operations"),
            query={"instance_id": instance_id, "parent_id": parent_id, "status": status},
        )
        return self._pages(Operation, request)


class PlacementsCalls(Calls):
    def list(
        self,
        project_id: str,
        *,
        app: str | None = None,
        chosen: Sequence[str] | None = None,
        instance_id: str | None = None,
        version: str | None = None,
    ) -> Pages[PlacementCandidate]:
        """List the allocations that could take the app, and for each component every reason why one cannot. A draft of the project
        is answered for before it is on trial, so that a smoke launch of it can be placed."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "placements"),
            query={"app": app, "chosen": chosen, "instance_id": instance_id, "version": version},
        )
        return self._pages(PlacementCandidate, request)


class PlatformKeysCalls(Calls):
    def retire(
        self, platform_key_id: str, reason: str, *, force: bool | None = None, generation: int | None = None
    ) -> PlatformKey:
        """End the trust in a key, once a newer one signs. A TLS CA needs every living agent to trust its successor first."""
        request = Request(
            method="POST",
            path=path_of("platform-keys", platform_key_id, "retire"),
            body=body_of({"reason": reason}, {"force": force}),
            headers=if_match(generation),
        )
        return self._read(PlatformKey, request)

    def rotate(self, kind: str, reason: str, *, generation: int | None = None) -> PlatformKey:
        """Make a new key. It is published now and signs after ten minutes; older keys are trusted until they are retired."""
        request = Request(
            method="POST",
            path=path_of("platform-keys", "rotate"),
            body=body_of({"kind": kind, "reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(PlatformKey, request)

    def list(self) -> Pages[PlatformKey]:
        """List the keys that sign tasks and certificates, with retired ones: their public keys, and what protects the private
        keys."""
        request = Request(method="GET", path=path_of("platform-keys"))
        return self._pages(PlatformKey, request)


class ProjectsCalls(Calls):
    def create(self, tenant_id: str, slug: str, name: str, *, generation: int | None = None) -> Project:
        """Create a project of the tenant, without members. Tenant administrators have access to it anyway."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "projects"),
            body=body_of({"slug": slug, "name": name}, {}),
            headers=if_match(generation),
        )
        return self._read(Project, request)

    def delete(self, project_id: str, *, generation: int | None = None) -> Project:
        """Request the deletion of an empty project. Nothing in it can be changed from now on, and its service accounts are
        refused. The deletion can be undone until `delete_after`; then everything in the project is removed. A repetition changes
        nothing."""
        request = Request(method="DELETE", path=path_of("projects", project_id), headers=if_match(generation))
        return self._read(Project, request)

    def export(self, project_id: str) -> Iterator[bytes]:
        """Export everything that the platform stores about the project, as JSON lines. Secrets are not included."""
        request = Request(method="GET", path=path_of("projects", project_id, "export"))
        return self._bytes(request)

    def members(self, project_id: str) -> Pages[Member]:
        """List the users with a role in the project. Tenant administrators are not listed."""
        request = Request(method="GET", path=path_of("projects", project_id, "members"))
        return self._pages(Member, request)

    def remove_member(self, project_id: str, user_id: str, *, generation: int | None = None) -> None:
        """Remove a user from the project. Their SSH certificates and grants in the project end too."""
        request = Request(
            method="DELETE", path=path_of("projects", project_id, "members", user_id), headers=if_match(generation)
        )
        self._discard(request)

    def set_member(self, project_id: str, user_id: str, role: str, *, generation: int | None = None) -> Member:
        """Give a user of the project's tenant a role in the project."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "members", user_id),
            body=body_of({"role": role}, {}),
            headers=if_match(generation),
        )
        return self._read(Member, request)

    def show(self, project_id: str) -> Project:
        """Show the project, and what you may do with it."""
        request = Request(method="GET", path=path_of("projects", project_id))
        return self._read(Project, request)

    def undelete(self, project_id: str, *, generation: int | None = None) -> Project:
        """Undo the deletion of a project before its date."""
        request = Request(method="POST", path=path_of("projects", project_id, "undelete"), headers=if_match(generation))
        return self._read(Project, request)

    def update(
        self, project_id: str, *, disabled: bool | None = None, name: str | None = None, generation: int | None = None
    ) -> Project:
        """Rename or disable a project. In a disabled project people can read, and end what runs, but change nothing else."""
        request = Request(
            method="PATCH",
            path=path_of("projects", project_id),
            body=body_of({}, {"disabled": disabled, "name": name}),
            headers=if_match(generation),
        )
        return self._read(Project, request)

    def list(self, tenant_id: str | None = None) -> Pages[Project]:
        """List all projects of the tenant, newest first.

        List the projects in which you have a role."""
        request = Request(
            method="GET",
            path=path_of("tenants", tenant_id, "projects") if tenant_id is not None else path_of("projects"),
        )
        return self._pages(Project, request)


class ProvidedAppsCalls(Calls):
    def report(
        self,
        project_id: str,
        slug: str,
        display_name: str,
        state: str,
        *,
        detail: str | None = None,
        generation: int | None = None,
    ) -> ProvidedApp:
        """Report the state of one of the platform's own apps, from the platform's own project."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "provided-apps", slug),
            body=body_of({"display_name": display_name, "state": state}, {"detail": detail}),
            headers=if_match(generation),
        )
        return self._read(ProvidedApp, request)

    def list(self, project_id: str) -> Sequence[ProvidedApp]:
        """List the platform's own apps by name: whether each is provided, and what to do if it is not."""
        request = Request(method="GET", path=path_of("projects", project_id, "provided-apps"))
        return self._items(ProvidedApp, request)


class PublishIntentsCalls(Calls):
    def cancel(self, project_id: str, publish_intent_id: str, *, generation: int | None = None) -> PublishIntent:
        """Cancel an open publish intent and remove the bytes that were sent for it. An intent that is being checked continues."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "publish-intents", publish_intent_id, "cancel"),
            headers=if_match(generation),
        )
        return self._read(PublishIntent, request)

    def complete(
        self, project_id: str, publish_intent_id: str, digest: str, *, generation: int | None = None
    ) -> PublishIntent:
        """Register the digest of the bytes. They are checked against it, which takes a while; `registered` means they match."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "publish-intents", publish_intent_id, "complete"),
            body=body_of({"digest": digest}, {}),
            headers=if_match(generation),
        )
        return self._read(PublishIntent, request)

    def create(
        self,
        project_id: str,
        kind: str,
        name: str,
        *,
        digest: str | None = None,
        media_type: str | None = None,
        size_bytes: int | None = None,
        generation: int | None = None,
    ) -> PublishIntent:
        """Announce an artifact to publish. The answer says where to send its bytes; complete the intent when they are there."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "publish-intents"),
            body=body_of(
                {"kind": kind, "name": name}, {"digest": digest, "media_type": media_type, "size_bytes": size_bytes}
            ),
            headers=if_match(generation),
        )
        return self._read(PublishIntent, request)

    def parts(
        self, project_id: str, publish_intent_id: str, *, after: int | None = None, limit: int | None = None
    ) -> UploadParts:
        """List parts of an upload: which have arrived, and where to send the others. Parts may be sent in any order, and more than
        once; an interrupted upload continues with the missing ones."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "publish-intents", publish_intent_id, "parts"),
            body=body_of({}, {"after": after, "limit": limit}),
        )
        return self._read(UploadParts, request)

    def refer(
        self,
        project_id: str,
        name: str,
        reference: str,
        *,
        credential: PullCredentialSet | Mapping[str, object] | None = None,
        generation: int | None = None,
    ) -> PublishIntent:
        """Register an image that stays in an external registry. The platform reads its manifest at once; `registered` means that
        it has the digest. Registering it again replaces the credential."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "external-images"),
            body=body_of({"name": name, "reference": reference}, {"credential": credential}),
            headers=if_match(generation),
        )
        return self._read(PublishIntent, request)

    def show(self, project_id: str, publish_intent_id: str) -> PublishIntent:
        """Show a publish intent. While it is open, the answer says where to send the bytes, with a fresh ticket for publishers."""
        request = Request(method="GET", path=path_of("projects", project_id, "publish-intents", publish_intent_id))
        return self._read(PublishIntent, request)

    def upload_content(self, project_id: str, publish_intent_id: str, content: Content) -> UploadedContent:
        """Upload a blob, where the platform keeps blobs in its own directory. A repetition replaces the bytes; a second upload is
        refused while the first is under way."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "publish-intents", publish_intent_id, "content"),
            content=content,
        )
        return self._read(UploadedContent, request)

    def upload_part(self, project_id: str, publish_intent_id: str, number: str, content: Content) -> UploadedPart:
        """Upload one part of a blob, where the platform keeps blobs in its own directory. A repetition replaces the part."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "publish-intents", publish_intent_id, "parts", number),
            content=content,
        )
        return self._read(UploadedPart, request)

    def list(self, project_id: str, *, digest: str | None = None) -> Pages[PublishIntent]:
        """List the publish intents of the project, newest first. Ended intents are deleted after a while."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "publish-intents"), query={"digest": digest}
        )
        return self._pages(PublishIntent, request)


class QuotasCalls(Calls):
    def project(self, project_id: str) -> Quota:
        """Show what the project may use, and what it uses. The tenant's limits apply too."""
        request = Request(method="GET", path=path_of("projects", project_id, "quota"))
        return self._read(Quota, request)

    def set_project(
        self,
        project_id: str,
        gpu_limit: int | None,
        *,
        artifact_byte_limit: int | None = None,
        artifact_limit: int | None = None,
        stream_limit: int | None = None,
        unproven_gpu_limit: int | None = None,
        generation: int | None = None,
    ) -> Quota:
        """Limit what the project uses, within the tenant's limits. A limit below the current use takes nothing away."""
        request = Request(
            method="PUT",
            path=path_of("projects", project_id, "quota"),
            body=body_of(
                {"gpu_limit": gpu_limit},
                {
                    "artifact_byte_limit": artifact_byte_limit,
                    "artifact_limit": artifact_limit,
                    "stream_limit": stream_limit,
                    "unproven_gpu_limit": unproven_gpu_limit,
                },
            ),
            headers=if_match(generation),
        )
        return self._read(Quota, request)

    def set_tenant(
        self,
        tenant_id: str,
        gpu_limit: int | None,
        *,
        artifact_byte_limit: int | None = None,
        artifact_limit: int | None = None,
        stream_limit: int | None = None,
        unproven_gpu_limit: int | None = None,
        generation: int | None = None,
    ) -> Quota:
        """Limit what the tenant uses. A limit below the current use takes nothing away, but nothing more can be created."""
        request = Request(
            method="PUT",
            path=path_of("tenants", tenant_id, "quota"),
            body=body_of(
                {"gpu_limit": gpu_limit},
                {
                    "artifact_byte_limit": artifact_byte_limit,
                    "artifact_limit": artifact_limit,
                    "stream_limit": stream_limit,
                    "unproven_gpu_limit": unproven_gpu_limit,
                },
            ),
            headers=if_match(generation),
        )
        return self._read(Quota, request)

    def tenant(self, tenant_id: str) -> Quota:
        """Show what all projects of the tenant may use together, and what they use: GPUs, artifacts, bytes, unproven releases."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "quota"))
        return self._read(Quota, request)


class ReceiptsCalls(Calls):
    def show(self, project_id: str, receipt_id: str) -> Receipt:
        """Show a teardown receipt: each check with its verdict, what was looked for, and what was found."""
        request = Request(method="GET", path=path_of("projects", project_id, "receipts", receipt_id))
        return self._read(Receipt, request)

    def list(
        self,
        project_id: str | None = None,
        *,
        allocation_id: str | None = None,
        instance_id: str | None = None,
        operation_id: str | None = None,
        status: str | None = None,
    ) -> Pages[ReceiptLine]:
        """List the teardown receipts, newest first, also those of decommissioned instances.

        List the receipts of all projects, newest first, for operators. `status` filters."""
        request = Request(
            method="GET",
            path=path_of("projects", project_id, "receipts") if project_id is not None else path_of("receipts"),
            query={
                "allocation_id": allocation_id,
                "instance_id": instance_id,
                "operation_id": operation_id,
                "status": status,
            },
        )
        return self._pages(ReceiptLine, request)


class SecretKeysCalls(Calls):
    def rotate(self, reason: str, *, generation: int | None = None) -> SecretKey:
        """Make a new key for all secrets. Stored secrets are wrapped again in the background; then the old key is destroyed."""
        request = Request(
            method="POST",
            path=path_of("secret-keys", "rotate"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(SecretKey, request)

    def list(self) -> Pages[SecretKey]:
        """List the keys that protect stored secrets, newest first: how many values are under each, and which are destroyed."""
        request = Request(method="GET", path=path_of("secret-keys"))
        return self._pages(SecretKey, request)


class ServiceAccountsCalls(Calls):
    def certificates(self, project_id: str, service_account_id: str) -> Pages[ServiceAccountCertificate]:
        """List the client certificates of the account, newest first, with their last use."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "service-accounts", service_account_id, "certificates")
        )
        return self._pages(ServiceAccountCertificate, request)

    def create(
        self,
        project_id: str,
        name: str,
        scopes: Sequence[str],
        *,
        app_slugs: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        generation: int | None = None,
    ) -> NewServiceAccount:
        """Create a service account. The answer has the secret of its first key, which is shown only now."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "service-accounts"),
            body=body_of({"name": name, "scopes": scopes}, {"app_slugs": app_slugs, "expires_at": expires_at}),
            headers=if_match(generation),
        )
        return self._read(NewServiceAccount, request)

    def create_certificate(
        self,
        project_id: str,
        service_account_id: str,
        certificate_request: str,
        *,
        days: int | None = None,
        generation: int | None = None,
    ) -> NewServiceAccountCertificate:
        """Sign a certificate request of a program, which keeps its private key. Older certificates stay valid."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "service-accounts", service_account_id, "certificates"),
            body=body_of({"certificate_request": certificate_request}, {"days": days}),
            headers=if_match(generation),
        )
        return self._read(NewServiceAccountCertificate, request)

    def create_key(
        self,
        project_id: str,
        service_account_id: str,
        *,
        expires_at: datetime | None = None,
        generation: int | None = None,
    ) -> NewServiceAccountKey:
        """Create another key. To rotate: create a key, hand it out, delete the old one; both work meanwhile."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "service-accounts", service_account_id, "keys"),
            body=body_of({}, {"expires_at": expires_at}),
            headers=if_match(generation),
        )
        return self._read(NewServiceAccountKey, request)

    def delete(self, project_id: str, service_account_id: str, *, generation: int | None = None) -> None:
        """Delete the account permanently. Its keys, tokens, certificates and grants end immediately; its audit records stay."""
        request = Request(
            method="DELETE",
            path=path_of("projects", project_id, "service-accounts", service_account_id),
            headers=if_match(generation),
        )
        self._discard(request)

    def delete_certificate(
        self, project_id: str, service_account_id: str, certificate_id: str, *, generation: int | None = None
    ) -> None:
        """End a client certificate now, with the tokens that are bound to it."""
        request = Request(
            method="DELETE",
            path=path_of(
                "projects", project_id, "service-accounts", service_account_id, "certificates", certificate_id
            ),
            headers=if_match(generation),
        )
        self._discard(request)

    def delete_key(
        self, project_id: str, service_account_id: str, key_id: str, *, generation: int | None = None
    ) -> None:
        """End a key now, with the tokens that it obtained and the account's certificates. Other keys stay valid."""
        request = Request(
            method="DELETE",
            path=path_of("projects", project_id, "service-accounts", service_account_id, "keys", key_id),
            headers=if_match(generation),
        )
        self._discard(request)

    def keys(self, project_id: str, service_account_id: str) -> Pages[ServiceAccountKey]:
        """List the keys of the account, newest first, with their last use. Secrets are not shown."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "service-accounts", service_account_id, "keys")
        )
        return self._pages(ServiceAccountKey, request)

    def show(self, project_id: str, service_account_id: str) -> ServiceAccount:
        """Show a service account: what it may do, and until when."""
        request = Request(method="GET", path=path_of("projects", project_id, "service-accounts", service_account_id))
        return self._read(ServiceAccount, request)

    def update(
        self,
        project_id: str,
        service_account_id: str,
        *,
        app_slugs: Sequence[str] | None = None,
        certificate_required: bool | None = None,
        disabled: bool | None = None,
        expires_at: datetime | None = None,
        scopes: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> ServiceAccount:
        """Change the scopes, apps or expiry of a service account, or disable it. Disabling ends its tokens, certificates and
        grants."""
        request = Request(
            method="PATCH",
            path=path_of("projects", project_id, "service-accounts", service_account_id),
            body=body_of(
                {},
                {
                    "app_slugs": app_slugs,
                    "certificate_required": certificate_required,
                    "disabled": disabled,
                    "expires_at": expires_at,
                    "scopes": scopes,
                },
            ),
            headers=if_match(generation),
        )
        return self._read(ServiceAccount, request)

    def update_key(
        self, project_id: str, service_account_id: str, key_id: str, disabled: bool, *, generation: int | None = None
    ) -> ServiceAccountKey:
        """Disable a key, or enable it again. Disabling ends the tokens that it obtained, and the account's certificates."""
        request = Request(
            method="PATCH",
            path=path_of("projects", project_id, "service-accounts", service_account_id, "keys", key_id),
            body=body_of({"disabled": disabled}, {}),
            headers=if_match(generation),
        )
        return self._read(ServiceAccountKey, request)

    def list(self, project_id: str) -> Pages[ServiceAccount]:
        """List the service accounts of the project, newest first. Secrets are never shown again."""
        request = Request(method="GET", path=path_of("projects", project_id, "service-accounts"))
        return self._pages(ServiceAccount, request)


class SigningKeysCalls(Calls):
    def revoke(self, signing_key_id: str, *, generation: int | None = None) -> None:
        """Revoke a leaked key. Every token that it signed ends now, perhaps yours too; sessions continue with a new key."""
        request = Request(method="DELETE", path=path_of("auth", "keys", signing_key_id), headers=if_match(generation))
        self._discard(request)

    def rotate(self, *, generation: int | None = None) -> SigningKey:
        """Make a new key that signs from now on. Tokens of the old key stay valid until they expire."""
        request = Request(method="POST", path=path_of("auth", "keys"), headers=if_match(generation))
        return self._read(SigningKey, request)

    def list(self) -> Pages[SigningKey]:
        """List the keys that sign access tokens, newest first. A key that no longer signs verifies until its last token expires."""
        request = Request(method="GET", path=path_of("auth", "keys"))
        return self._pages(SigningKey, request)


class SkusCalls(Calls):
    def create(self, new: NewSku, *, generation: int | None = None) -> Sku:
        """Offer GPUs of one model in one shape at a price. The name must be unique."""
        request = Request(method="POST", path=path_of("skus"), body=object_of(new), headers=if_match(generation))
        return self._read(Sku, request)

    def update(
        self,
        sku_id: str,
        *,
        accept_not_examined: Sequence[str] | None = None,
        gpu_counts: Sequence[int] | None = None,
        offered: bool | None = None,
        price_per_gpu_hour_minor: int | None = None,
        wipe_grade: str | None = None,
        generation: int | None = None,
    ) -> Sku:
        """Change the counts, the price, the wipe grade, or whether the SKU is offered. Existing allocations do not change."""
        request = Request(
            method="PATCH",
            path=path_of("skus", sku_id),
            body=body_of(
                {},
                {
                    "accept_not_examined": accept_not_examined,
                    "gpu_counts": gpu_counts,
                    "offered": offered,
                    "price_per_gpu_hour_minor": price_per_gpu_hour_minor,
                    "wipe_grade": wipe_grade,
                },
            ),
            headers=if_match(generation),
        )
        return self._read(Sku, request)

    def list(self) -> Pages[Sku]:
        """List the SKUs, newest first, with those that are no longer offered."""
        request = Request(method="GET", path=path_of("skus"))
        return self._pages(Sku, request)


class SlotsCalls(Calls):
    def approve(
        self,
        node_id: str,
        *,
        capacity_shape: str | None = None,
        slot_ids: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> Sequence[Slot]:
        """Approve the topology that discovery found. Nothing can be allocated before that."""
        request = Request(
            method="POST",
            path=path_of("nodes", node_id, "slots", "approve"),
            body=body_of({}, {"capacity_shape": capacity_shape, "slot_ids": slot_ids}),
            headers=if_match(generation),
        )
        return self._items(Slot, request)

    def disable(self, slot_id: str, reason: str, *, generation: int | None = None) -> Slot:
        """Take a GPU out of the pool, with a reason. A GPU that is claimed, or not proven clean, must be released first."""
        request = Request(
            method="POST",
            path=path_of("slots", slot_id, "disable"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(Slot, request)

    def enable(self, slot_id: str, *, generation: int | None = None) -> Slot:
        """Return a GPU to the pool. A slot that was never approved waits for its approval again."""
        request = Request(method="POST", path=path_of("slots", slot_id, "enable"), headers=if_match(generation))
        return self._read(Slot, request)

    def map(self, *, status: str | None = None) -> Pages[NodeSlots]:
        """List every node with the status of each GPU and the allocation that has it. For a map of the fleet."""
        request = Request(method="GET", path=path_of("slot-map"), query={"status": status})
        return self._pages(NodeSlots, request)

    def list(self, node_id: str) -> Sequence[Slot]:
        """List the GPUs of a node by index, with what discovery found and whether they can be claimed."""
        request = Request(method="GET", path=path_of("nodes", node_id, "slots"))
        return self._items(Slot, request)


class SshAccessCalls(Calls):
    def authorities(self) -> SshCa:
        """Show the SSH certificate authorities: those that hosts trust for logins, and those that clients trust for host keys."""
        request = Request(method="GET", path=path_of("ssh-ca"))
        return self._read(SshCa, request)

    def certificates(self, project_id: str, allocation_id: str) -> Pages[IssuedSshCertificate]:
        """List the SSH certificates of the allocation, newest first."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "allocations", allocation_id, "ssh-certificates")
        )
        return self._pages(IssuedSshCertificate, request)

    def create_certificate(
        self,
        project_id: str,
        allocation_id: str,
        public_key: str,
        *,
        minutes: int | None = None,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> SshCertificate:
        """Sign a login certificate for an active allocation, valid for an hour at most. Nothing secret is stored or sent."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "ssh-certificates"),
            body=body_of({"public_key": public_key}, {"minutes": minutes, "source_addresses": source_addresses}),
            headers=if_match(generation),
        )
        return self._read(SshCertificate, request)

    def create_grant(
        self, project_id: str, allocation_id: str, new: NewSshGrant, *, generation: int | None = None
    ) -> SshGrant:
        """Put a public key on the allocation until `expires_at`. The host installs and removes it."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "ssh-grants"),
            body=object_of(new),
            headers=if_match(generation),
        )
        return self._read(SshGrant, request)

    def delete_grant(
        self, project_id: str, allocation_id: str, grant_id: str, *, generation: int | None = None
    ) -> None:
        """Revoke an SSH grant: the host removes the key now."""
        request = Request(
            method="DELETE",
            path=path_of("projects", project_id, "allocations", allocation_id, "ssh-grants", grant_id),
            headers=if_match(generation),
        )
        self._discard(request)

    def for_operation(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        public_key: str,
        *,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> MachineAccess:
        """Sign SSH certificates for the allocations of an operation whose lease you have. They last an hour at most and end with
        the operation."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "operations", operation_id, "machine-access"),
            body=body_of(
                {"lease_token": lease_token, "public_key": public_key}, {"source_addresses": source_addresses}
            ),
            headers=if_match(generation),
        )
        return self._read(MachineAccess, request)

    def grants(self, project_id: str, allocation_id: str) -> Pages[SshGrant]:
        """List the SSH grants of the allocation, newest first, with expired and revoked ones."""
        request = Request(
            method="GET", path=path_of("projects", project_id, "allocations", allocation_id, "ssh-grants")
        )
        return self._pages(SshGrant, request)

    def revoke_certificate(
        self,
        project_id: str,
        allocation_id: str,
        reason: str,
        *,
        issued_to: str | None = None,
        serial: int | None = None,
        generation: int | None = None,
    ) -> RevokedSshCertificates:
        """Revoke SSH certificates: your own, or anyone's as an administrator. The host ends the sessions that they opened."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "ssh-certificates", "revoke"),
            body=body_of({"reason": reason}, {"issued_to": issued_to, "serial": serial}),
            headers=if_match(generation),
        )
        return self._read(RevokedSshCertificates, request)


class SshKeysCalls(Calls):
    def create(self, name: str, public_key: str, *, generation: int | None = None) -> SshKey:
        """Store one of your public keys, so that you can name it in an allocation or a grant. Each key is stored once."""
        request = Request(
            method="POST",
            path=path_of("me", "ssh-keys"),
            body=body_of({"name": name, "public_key": public_key}, {}),
            headers=if_match(generation),
        )
        return self._read(SshKey, request)

    def delete(self, ssh_key_id: str, *, generation: int | None = None) -> None:
        """Delete a stored key. Grants made from it are copies: they stay until they expire or are revoked."""
        request = Request(method="DELETE", path=path_of("me", "ssh-keys", ssh_key_id), headers=if_match(generation))
        self._discard(request)

    def list(self) -> Pages[SshKey]:
        """List your stored public keys, newest first."""
        request = Request(method="GET", path=path_of("me", "ssh-keys"))
        return self._pages(SshKey, request)


class TenantsCalls(Calls):
    def create(self, slug: str, name: str, *, generation: int | None = None) -> Tenant:
        """Create an empty tenant. Next, give it users and an administrator."""
        request = Request(
            method="POST",
            path=path_of("tenants"),
            body=body_of({"slug": slug, "name": name}, {}),
            headers=if_match(generation),
        )
        return self._read(Tenant, request)

    def delete(self, tenant_id: str, *, generation: int | None = None) -> Tenant:
        """Request the deletion of an empty tenant. Its people and programs are refused immediately. The deletion can be undone
        until `delete_after`; then everything in the tenant is removed. A repetition changes nothing."""
        request = Request(method="DELETE", path=path_of("tenants", tenant_id), headers=if_match(generation))
        return self._read(Tenant, request)

    def export(self, tenant_id: str) -> Iterator[bytes]:
        """Export everything that the platform stores about the tenant and its projects, as JSON lines. Secrets are not included."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "export"))
        return self._bytes(request)

    def members(self, tenant_id: str) -> Pages[Member]:
        """List the users with a role in the tenant as a whole."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "members"))
        return self._pages(Member, request)

    def remove_member(self, tenant_id: str, user_id: str, *, generation: int | None = None) -> None:
        """Take the tenant role away from a user. Roles in projects stay; the last administrator cannot be removed."""
        request = Request(
            method="DELETE", path=path_of("tenants", tenant_id, "members", user_id), headers=if_match(generation)
        )
        self._discard(request)

    def set_member(self, tenant_id: str, user_id: str, role: str, *, generation: int | None = None) -> Member:
        """Give a user of the tenant a role in the tenant as a whole. It replaces the previous one."""
        request = Request(
            method="PUT",
            path=path_of("tenants", tenant_id, "members", user_id),
            body=body_of({"role": role}, {}),
            headers=if_match(generation),
        )
        return self._read(Member, request)

    def show(self, tenant_id: str) -> Tenant:
        """Show the tenant, and what you may do with it."""
        request = Request(method="GET", path=path_of("tenants", tenant_id))
        return self._read(Tenant, request)

    def undelete(self, tenant_id: str, *, generation: int | None = None) -> Tenant:
        """Undo the deletion of a tenant before its date. Accounts, keys and sessions are as they were."""
        request = Request(method="POST", path=path_of("tenants", tenant_id, "undelete"), headers=if_match(generation))
        return self._read(Tenant, request)

    def update(
        self,
        tenant_id: str,
        *,
        disabled: bool | None = None,
        name: str | None = None,
        wipe_grade: str | None = None,
        generation: int | None = None,
    ) -> Tenant:
        """Rename or disable a tenant, or set its wipe grade. In a disabled tenant people can read, and end what runs, but change
        nothing else."""
        request = Request(
            method="PATCH",
            path=path_of("tenants", tenant_id),
            body=body_of({}, {"disabled": disabled, "name": name, "wipe_grade": wipe_grade}),
            headers=if_match(generation),
        )
        return self._read(Tenant, request)

    def list(self) -> Pages[Tenant]:
        """List the tenants: all of them for platform roles, otherwise your own."""
        request = Request(method="GET", path=path_of("tenants"))
        return self._pages(Tenant, request)


class TerminalsCalls(Calls):
    def close(
        self, project_id: str, allocation_id: str, terminal_id: str, *, generation: int | None = None
    ) -> Terminal:
        """Close a terminal: your own, or anyone's if you administer the project. It can be repeated."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "terminals", terminal_id, "close"),
            headers=if_match(generation),
        )
        return self._read(Terminal, request)

    def open(
        self,
        project_id: str,
        allocation_id: str,
        *,
        columns: int | None = None,
        rows: int | None = None,
        generation: int | None = None,
    ) -> Terminal:
        """Request a shell in the allocation. Then connect a WebSocket to `stream` within seconds."""
        request = Request(
            method="POST",
            path=path_of("projects", project_id, "allocations", allocation_id, "terminals"),
            body=body_of({}, {"columns": columns, "rows": rows}),
            headers=if_match(generation),
        )
        return self._read(Terminal, request)

    def list(self, project_id: str, allocation_id: str) -> Pages[Terminal]:
        """List the terminals of the allocation, newest first, with ended ones. What was typed is not stored."""
        request = Request(method="GET", path=path_of("projects", project_id, "allocations", allocation_id, "terminals"))
        return self._pages(Terminal, request)


class TrustCalls(Calls):
    def create_key(self, tenant_id: str, name: str, public_key: str, *, generation: int | None = None) -> TrustKey:
        """Trust the signatures of a key, from an artifact's next check on. A revoked key cannot be added again."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "trust-keys"),
            body=body_of({"name": name, "public_key": public_key}, {}),
            headers=if_match(generation),
        )
        return self._read(TrustKey, request)

    def keys(self, tenant_id: str) -> Pages[TrustKey]:
        """List the public keys whose signatures the tenant trusts, newest first, with revoked ones."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "trust-keys"))
        return self._pages(TrustKey, request)

    def policy(self, tenant_id: str) -> TrustPolicy:
        """Show whether the tenant requires signatures. The default is false."""
        request = Request(method="GET", path=path_of("tenants", tenant_id, "trust-policy"))
        return self._read(TrustPolicy, request)

    def revoke_key(self, tenant_id: str, trust_key_id: str, reason: str, *, generation: int | None = None) -> TrustKey:
        """Revoke a trust key. Artifacts that no other key of the tenant signed lose their trust; their instances are flagged."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "trust-keys", trust_key_id, "revoke"),
            body=body_of({"reason": reason}, {}),
            headers=if_match(generation),
        )
        return self._read(TrustKey, request)

    def set_policy(
        self,
        tenant_id: str,
        require_signature: bool,
        reason: str,
        *,
        require_smoke_launch: bool | None = None,
        generation: int | None = None,
    ) -> TrustPolicy:
        """Set whether the tenant requires signatures. With `require_signature` it launches only what one of its trust keys
        signed."""
        request = Request(
            method="PUT",
            path=path_of("tenants", tenant_id, "trust-policy"),
            body=body_of(
                {"require_signature": require_signature, "reason": reason},
                {"require_smoke_launch": require_smoke_launch},
            ),
            headers=if_match(generation),
        )
        return self._read(TrustPolicy, request)


class UsersCalls(Calls):
    def create(
        self,
        tenant_id: str | None,
        email: str,
        name: str,
        *,
        password: str | None = None,
        generation: int | None = None,
    ) -> UserWithPassword:
        """Create a user of the tenant, without a role. A password that the platform makes is shown only now.

        Create a user of the platform, or of the named tenant. A password that the platform makes is shown only now."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "users") if tenant_id is not None else path_of("users"),
            body=body_of({"email": email, "name": name}, {"password": password}),
            headers=if_match(generation),
        )
        return self._read(UserWithPassword, request)

    def delete(self, tenant_id: str | None, user_id: str, *, generation: int | None = None) -> None:
        """Delete a user of the tenant permanently. Name and e-mail address are removed, and all access ends immediately.

        Delete a user permanently. Name and e-mail address are removed, and all access ends immediately; audit records keep the
        id."""
        request = Request(
            method="DELETE",
            path=path_of("tenants", tenant_id, "users", user_id)
            if tenant_id is not None
            else path_of("users", user_id),
            headers=if_match(generation),
        )
        self._discard(request)

    def remove_platform_role(self, user_id: str, *, generation: int | None = None) -> None:
        """Take the platform role away from a user. The last administrator cannot be removed."""
        request = Request(
            method="DELETE", path=path_of("users", user_id, "platform-role"), headers=if_match(generation)
        )
        self._discard(request)

    def set_platform_role(self, user_id: str, role: str, *, generation: int | None = None) -> Member:
        """Make a user of the platform its administrator or operator. This replaces the previous role."""
        request = Request(
            method="PUT",
            path=path_of("users", user_id, "platform-role"),
            body=body_of({"role": role}, {}),
            headers=if_match(generation),
        )
        return self._read(Member, request)

    def show(self, tenant_id: str | None, user_id: str) -> User:
        """Show a user of the tenant, with the roles in the tenant and its projects.

        Show a user of any tenant, with all roles."""
        request = Request(
            method="GET",
            path=path_of("tenants", tenant_id, "users", user_id)
            if tenant_id is not None
            else path_of("users", user_id),
        )
        return self._read(User, request)

    def unlock(self, tenant_id: str | None, user_id: str, *, generation: int | None = None) -> User:
        """End the lockouts of a user of the tenant after wrong passwords, in all networks.

        End the lockouts of a user after wrong passwords, in all networks."""
        request = Request(
            method="POST",
            path=path_of("tenants", tenant_id, "users", user_id, "unlock")
            if tenant_id is not None
            else path_of("users", user_id, "unlock"),
            headers=if_match(generation),
        )
        return self._read(User, request)

    def update(
        self,
        tenant_id: str | None,
        user_id: str,
        *,
        disabled: bool | None = None,
        name: str | None = None,
        reset_password: bool | None = None,
        unlock: bool | None = None,
        generation: int | None = None,
    ) -> UserWithPassword:
        """Rename, disable or unlock a user, or make a new password (shown once). Disabling ends all access of the user."""
        request = Request(
            method="PATCH",
            path=path_of("tenants", tenant_id, "users", user_id)
            if tenant_id is not None
            else path_of("users", user_id),
            body=body_of({}, {"disabled": disabled, "name": name, "reset_password": reset_password, "unlock": unlock}),
            headers=if_match(generation),
        )
        return self._read(UserWithPassword, request)

    def list(self, tenant_id: str | None = None) -> Pages[User]:
        """List the users of the tenant, newest first, with disabled ones.

        List the users of all tenants and of the platform, newest first."""
        request = Request(
            method="GET", path=path_of("tenants", tenant_id, "users") if tenant_id is not None else path_of("users")
        )
        return self._pages(User, request)


class CallGroups:
    """Every group of calls, by its name."""

    def __init__(self, transport: Transport) -> None:
        self.access_credentials = AccessCredentialsCalls(transport)
        self.allocations = AllocationsCalls(transport)
        self.app_usage = AppUsageCalls(transport)
        self.app_versions = AppVersionsCalls(transport)
        self.apps = AppsCalls(transport)
        self.artifacts = ArtifactsCalls(transport)
        self.audit = AuditCalls(transport)
        self.catalog = CatalogCalls(transport)
        self.controller = ControllerCalls(transport)
        self.controller_bindings = ControllerBindingsCalls(transport)
        self.controller_consents = ControllerConsentsCalls(transport)
        self.controller_kind_bindings = ControllerKindBindingsCalls(transport)
        self.controller_offers = ControllerOffersCalls(transport)
        self.controller_replicas = ControllerReplicasCalls(transport)
        self.deletions = DeletionsCalls(transport)
        self.enrolment_tokens = EnrolmentTokensCalls(transport)
        self.entitlements = EntitlementsCalls(transport)
        self.events = EventsCalls(transport)
        self.host_reports = HostReportsCalls(transport)
        self.instances = InstancesCalls(transport)
        self.logs = LogsCalls(transport)
        self.maintenance_windows = MaintenanceWindowsCalls(transport)
        self.me = MeCalls(transport)
        self.nodes = NodesCalls(transport)
        self.operations = OperationsCalls(transport)
        self.placements = PlacementsCalls(transport)
        self.platform_keys = PlatformKeysCalls(transport)
        self.projects = ProjectsCalls(transport)
        self.provided_apps = ProvidedAppsCalls(transport)
        self.publish_intents = PublishIntentsCalls(transport)
        self.quotas = QuotasCalls(transport)
        self.receipts = ReceiptsCalls(transport)
        self.secret_keys = SecretKeysCalls(transport)
        self.service_accounts = ServiceAccountsCalls(transport)
        self.signing_keys = SigningKeysCalls(transport)
        self.skus = SkusCalls(transport)
        self.slots = SlotsCalls(transport)
        self.ssh_access = SshAccessCalls(transport)
        self.ssh_keys = SshKeysCalls(transport)
        self.tenants = TenantsCalls(transport)
        self.terminals = TerminalsCalls(transport)
        self.trust = TrustCalls(transport)
        self.users = UsersCalls(transport)
