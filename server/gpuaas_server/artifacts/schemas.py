"""Wire types of artifacts, publish intents and trust."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Name, Reason

Digest = Annotated[str, StringConstraints(pattern="^sha256:[0-9a-f]{64}$")]
# Also the last part of a repository's name, which is stricter than our slugs about nothing but its end.
ArtifactName = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
MediaType = Annotated[str, StringConstraints(max_length=127, pattern=r"^[a-z0-9]+/[A-Za-z0-9!#$&^_.+-]+$")]
Base64 = Annotated[str, StringConstraints(min_length=4, max_length=2048, pattern="^[A-Za-z0-9+/]+={0,2}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]
ArtifactKind = Literal["oci", "blob"]
StageName = Literal["draft", "staged", "canary", "active", "deprecated", "retired"]
TrustName = Literal["unverified", "verified", "failed_verification", "revoked"]
EvidenceKind = Literal["lint", "smoke"]


class PublishIntentCreate(Body):
    kind: ArtifactKind
    name: ArtifactName
    media_type: MediaType = "application/octet-stream"
    size_bytes: int | None = Field(default=None, ge=0, le=1 << 50, description="When known: more or less is refused.")


class PublishIntentComplete(Body):
    digest: Digest = Field(description="Of the blob, or of the image's manifest. Checked against the bytes.")


class UploadTicket(BaseModel):
    """Where the bytes go: not through this API, unless the platform keeps blobs in a directory of its own."""

    method: str
    url: str = Field(description="A path is one of this API, with your access token; else send no token along.")
    authorised: bool = Field(description="Whether the request takes your access token.")
    headers: dict[str, str]


class RegistryPlace(BaseModel):
    """Push here with any OCI client: `<registry>/<repository>:<any tag>`."""

    registry: str
    repository: str


class PublishFailure(BaseModel):
    code: str
    message: str
    next_step: str
    retryable: bool


class PublishIntent(BaseModel):
    id: str
    project_id: str
    kind: ArtifactKind
    name: str
    media_type: str
    size_bytes: int | None
    digest: str | None
    state: Literal["open", "verifying", "registered", "failed", "expired", "cancelled"]
    deadline_at: datetime | None = Field(description="When it ends by itself; null once it has ended.")
    upload: UploadTicket | None = Field(description="For an open intent of a blob.")
    push: RegistryPlace | None = Field(description="For an open intent of an image.")
    failure: PublishFailure | None
    artifact_id: str | None
    created_by: str
    created_at: datetime
    ended_at: datetime | None
    generation: int
    allowed_actions: list[str]


class UploadedContent(BaseModel):
    """What was received; nothing is published by it yet."""

    digest: str
    size_bytes: int


class Artifact(BaseModel):
    id: str
    project_id: str
    kind: ArtifactKind
    name: str
    digest: str
    size_bytes: int
    media_type: str
    reference: str | None = Field(description="Of an image: what to pull, by digest.")
    stage: StageName
    stage_since: datetime
    canary_percent: int = Field(description="Which share of the projects a canary is for; 0 in other stages.")
    trust: TrustName
    trust_detail: str
    signed_by: list[str] = Field(description="Fingerprints of the tenant's trust keys whose signature is good.")
    checking: bool = Field(description="Whether bytes and signatures are being checked now.")
    checked_at: datetime | None
    created_by: str
    created_at: datetime
    generation: int
    allowed_actions: list[str]


class ArtifactMove(Body):
    stage: StageName
    canary_percent: int | None = Field(default=None, ge=1, le=100, description="For a canary, and only for it.")
    reason: Reason


class ArtifactVerify(Body):
    signatures: list[Base64] = Field(
        default_factory=list,
        max_length=20,
        description="Of a blob (`cosign sign-blob`). Those of an image are beside it.",
    )


class ArtifactRevoke(Body):
    reason: Reason


class EvidenceAdd(Body):
    kind: EvidenceKind
    passed: bool
    tool: Name = Field(description="What was run, with its version.")
    summary: Text = Field(description="What it said, or where its report is.")


class Evidence(BaseModel):
    id: str
    artifact_id: str
    kind: EvidenceKind
    passed: bool
    tool: str
    summary: str
    submitted_by: str
    created_at: datetime


class TrustPolicySet(Body):
    require_signature: bool
    reason: Reason


class TrustPolicy(BaseModel):
    tenant_id: str
    require_signature: bool
    updated_by: str | None
    updated_at: datetime | None
    generation: int


class TrustKeyCreate(Body):
    name: Name
    public_key: Annotated[str, StringConstraints(min_length=50, max_length=4000)] = Field(
        description="PEM, as in cosign.pub."
    )


class TrustKeyRevoke(Body):
    reason: Reason


class TrustKey(BaseModel):
    id: str
    name: str
    public_key: str
    fingerprint: str
    algorithm: str
    created_by: str
    created_at: datetime
    revoked_at: datetime | None
    revoked_reason: str | None


class RegistryToken(BaseModel):
    """As the registry token protocol names its fields."""

    token: str
    access_token: str
    expires_in: int
    issued_at: datetime


class RuntimeSecretCreate(Body):
    lease_token: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern="^[!-~]+$")]
    purpose: Literal["artifact_pull"] = "artifact_pull"
    recipient_key: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{43}=$")] = Field(
        description="Your X25519 public key, 32 bytes as base64. The secret is sealed to it."
    )


class RuntimeSecret(BaseModel):
    """Sealed is a JSON object: `username` and `password`, and either `registry` with `reference`, or `url`."""

    id: str
    purpose: Literal["artifact_pull"]
    digest: str
    kind: ArtifactKind
    expires_at: datetime
    format: str = Field(description="How it is sealed; see docs/reference/sealed-delivery.md.")
    sealed: str = Field(description="With `runtime-secret:<id>` as info.")
