"""The rows of artifacts: each class has the columns of one table, or of one question to the database."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_server.artifacts.schemas import ArtifactKind
from gpuaas_server.kernel.failures import FailureDocument


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    id: str
    tenant_id: str
    project_id: str
    kind: str
    name: str
    digest: str
    size_bytes: int
    media_type: str
    location: str
    stage: str
    stage_since: datetime
    trust: str
    trust_detail: str
    created_by: str
    created_at: datetime
    signed_by: list[str]
    signatures: list[str]
    canary_percent: int = 0
    check_until: datetime | None = None
    checked_at: datetime | None = None
    generation: int = 1
    deleting_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    """What launches of any tenant depend on."""

    digest: str
    tenant_id: str
    project_id: str
    stage: str
    trust: str
    signed_by: list[str]
    canary_percent: int


@dataclass(frozen=True, slots=True)
class PullableArtifact:
    """What a host needs to know to pull an artifact, whichever tenant published it."""

    id: str
    kind: ArtifactKind
    digest: str
    location: str
    trust: str
    trust_detail: str


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    id: str
    artifact_id: str
    tenant_id: str
    kind: str
    passed: bool
    tool: str
    summary: str
    submitted_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PublishIntentRow:
    id: str
    tenant_id: str
    project_id: str
    kind: str
    name: str
    media_type: str
    size_bytes: int | None
    state: str
    deadline_at: datetime | None
    created_by: str
    correlation_id: str
    created_at: datetime
    quota_held: bool
    reserved_bytes: int
    digest: str | None = None
    failure: FailureDocument | None = None
    artifact_id: str | None = None
    ended_at: datetime | None = None
    generation: int = 1
    upload_token: str | None = None
    upload_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class TrustPolicyRow:
    tenant_id: str
    require_signature: bool
    updated_by: str
    updated_at: datetime
    generation: int


@dataclass(frozen=True, slots=True)
class TrustKeyRow:
    id: str
    tenant_id: str
    name: str
    public_key: str
    fingerprint: str
    algorithm: str
    created_by: str
    created_at: datetime
    revoked_at: datetime | None = None
    revoked_reason: str | None = None


@dataclass(frozen=True, slots=True)
class RuntimeSecretRow:
    id: str
    tenant_id: str
    project_id: str
    purpose: str
    operation_id: str
    artifact_id: str
    secret_digest: bytes
    issued_to: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ImageLocation:
    """An image of the registry that must stay there."""

    repository: str
    digest: str


@dataclass(frozen=True, slots=True)
class ExceededQuota:
    """The project or the tenant that has no bytes left for a push."""

    scope: str
    limit: int
    used: int


@dataclass(frozen=True, slots=True)
class LiveUploads:
    """How many uploads are under way."""

    in_project: int
    in_tenant: int
