"""The rows of artifacts: each class has the columns of one table, or of one question to the database."""

from datetime import datetime

from gpuaas_server.artifacts.schemas import ArtifactKind
from gpuaas_server.kernel.dataclass import dataclass
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
    registry: str | None = None  # an external one; None: the bytes are the platform's
    pull_secret_id: str | None = None

    @property
    def stored_bytes(self) -> int:
        """Return how many bytes the platform keeps of it; an external registry keeps its own."""
        return self.size_bytes if self.registry is None else 0


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    """Holds the facts that launches of any tenant depend on."""

    digest: str
    tenant_id: str
    project_id: str
    stage: str
    trust: str
    signed_by: list[str]
    canary_percent: int
    has_credential: bool


@dataclass(frozen=True, slots=True)
class PullableArtifact:
    """Tells a host what it needs to know to pull an artifact, whichever tenant published it."""

    id: str
    kind: ArtifactKind
    digest: str
    location: str
    trust: str
    trust_detail: str
    tenant_id: str
    registry: str | None
    pull_secret_id: str | None


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
    source: str
    operation_id: str | None


@dataclass(frozen=True, slots=True)
class LastEvidence:
    """The last outcome of one kind, by one source."""

    kind: str
    source: str
    passed: bool


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
    quota_reserved: bool
    reserved_bytes: int
    digest: str | None = None
    failure: FailureDocument | None = None
    artifact_id: str | None = None
    ended_at: datetime | None = None
    generation: int = 1
    upload_token: str | None = None
    upload_until: datetime | None = None
    registry: str | None = None  # an external one, with the repository there
    repository: str | None = None
    pull_secret_id: str | None = None
    part_bytes: int | None = None
    parts_name: str | None = None

    @property
    def reference(self) -> str | None:
        return None if self.registry is None else f"{self.registry}/{self.repository}@{self.digest}"


@dataclass(frozen=True, slots=True)
class TrustPolicyRow:
    tenant_id: str
    require_signature: bool
    require_smoke_launch: bool
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
    """Counts the uploads that are under way."""

    in_project: int
    in_tenant: int
