"""Wire types of artifacts, publish intents and trust."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Generation, Name, Reason, examples

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
    model_config = examples({"kind": "oci", "name": "echo"}, {"kind": "blob", "name": "weights", "size_bytes": 1048576})

    kind: ArtifactKind = Field(description="`oci`: an image, pushed to the registry. `blob`: any other bytes.")
    name: ArtifactName = Field(description="Shared by all versions of the same thing; the digest tells them apart.")
    media_type: MediaType = Field(default="application/octet-stream", description="Of a blob.")
    size_bytes: int | None = Field(default=None, ge=0, le=1 << 50, description="When known: more or less is refused.")


class PublishIntentComplete(Body):
    model_config = examples({"digest": "sha256:" + "0123456789abcdef" * 4})

    digest: Digest = Field(description="Of the blob, or of the image's manifest. Checked against the bytes.")


class UploadTicket(BaseModel):
    """Where the bytes go: not through this API, unless the platform keeps blobs in a directory of its own."""

    method: str = Field(description="The HTTP method to send the bytes with.")
    url: str = Field(description="A path is one of this API, with your access token; else send no token along.")
    authorised: bool = Field(description="Whether the request takes your access token.")
    headers: dict[str, str] = Field(description="To be sent along.")


class RegistryPlace(BaseModel):
    """Push here with any OCI client: `<registry>/<repository>:<any tag>`."""

    registry: str = Field(description="Host and port.")
    repository: str = Field(description="Made for this project and name.")


class PublishFailure(BaseModel):
    code: str = Field(description="Stable; listed in contract/error-codes.json.")
    message: str = Field(description="For a person.")
    next_step: str
    retryable: bool = Field(description="Whether publishing the same again may succeed.")


class PublishIntent(BaseModel):
    id: str
    project_id: str
    kind: ArtifactKind
    name: str
    media_type: str
    size_bytes: int | None = Field(description="As announced; null when it was not.")
    digest: str | None = Field(description="As the publisher said on completing it.")
    state: Literal["open", "verifying", "registered", "failed", "expired", "cancelled"]
    deadline_at: datetime | None = Field(description="When it ends by itself; null once it has ended.")
    upload: UploadTicket | None = Field(description="For an open intent of a blob.")
    push: RegistryPlace | None = Field(description="For an open intent of an image.")
    failure: PublishFailure | None = Field(description="Why it is failed; else null.")
    artifact_id: str | None = Field(description="What it became; once `registered`.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    ended_at: datetime | None = Field(description="When it was registered, failed, expired or cancelled.")
    generation: Generation
    allowed_actions: AllowedActions


class UploadedContent(BaseModel):
    """What was received; nothing is published by it yet."""

    digest: str = Field(description="Of what was received: complete the intent with it if it is yours.")
    size_bytes: int


class Artifact(BaseModel):
    id: str
    project_id: str
    kind: ArtifactKind
    name: str
    digest: str = Field(description="sha256:… of the blob, or of the image's manifest.")
    size_bytes: int
    media_type: str = Field(description="As announced by the publisher.")
    reference: str | None = Field(description="Of an image: what to pull, by digest.")
    stage: StageName = Field(description="How far it has come; only an active one, or a canary, is launched.")
    stage_since: datetime
    canary_percent: int = Field(description="Which share of the projects a canary is for; 0 in other stages.")
    trust: TrustName = Field(description="What the checks of bytes and signatures said; `revoked` is for ever.")
    trust_detail: str = Field(description="Why it is trusted or not, for a person.")
    signed_by: list[str] = Field(description="Fingerprints of the tenant's trust keys whose signature is good.")
    checking: bool = Field(description="Whether bytes and signatures are being checked now.")
    deleting: bool = Field(description="Whether its bytes are being removed; then it is gone.")
    checked_at: datetime | None = Field(description="When bytes and signatures were checked last.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class ArtifactMove(Body):
    model_config = examples(
        {"stage": "canary", "canary_percent": 10, "reason": "passed a week in staging"},
        {"stage": "active", "reason": "the canary is healthy"},
    )

    stage: StageName = Field(
        description="One step on: draft, staged, canary, active, deprecated, retired; or back from canary to staged."
    )
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
    model_config = examples({"kind": "smoke", "passed": True, "tool": "echo-smoke 0.1", "summary": "12 of 12 passed"})

    kind: EvidenceKind = Field(description="What was run: a lint, or a smoke test of the artifact.")
    passed: bool = Field(description="What the run said. A failed one is worth keeping too.")
    tool: Name = Field(description="What was run, with its version.")
    summary: Text = Field(description="What it said, or where its report is.")


class Evidence(BaseModel):
    id: str
    artifact_id: str
    kind: EvidenceKind
    passed: bool
    tool: str
    summary: str
    submitted_by: str = Field(description="Id of the user or service account.")
    created_at: datetime


class TrustPolicySet(Body):
    model_config = examples({"require_signature": True, "reason": "all our builds are signed since May"})

    require_signature: bool = Field(description="Whether the tenant launches only what one of its trust keys signed.")
    reason: Reason


class TrustPolicy(BaseModel):
    tenant_id: str
    require_signature: bool = Field(description="Whether the tenant launches only what one of its trust keys signed.")
    updated_by: str | None = Field(description="Null: nobody has set it yet.")
    updated_at: datetime | None
    generation: Generation


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
    fingerprint: str = Field(description="As it is named in an artifact's `signed_by`.")
    algorithm: str = Field(description="Of the key, such as ecdsa-secp256r1 or rsa-3072.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    revoked_at: datetime | None
    revoked_reason: str | None


class RegistryToken(BaseModel):
    """As the registry token protocol names its fields."""

    token: str
    access_token: str = Field(description="The same token, under the protocol's other name.")
    expires_in: int = Field(description="Seconds.")
    issued_at: datetime


class RuntimeSecretCreate(Body):
    lease_token: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern="^[!-~]+$")] = Field(
        description="Of the claim."
    )
    purpose: Literal["artifact_pull"] = "artifact_pull"
    recipient_key: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{43}=$")] = Field(
        description="Your X25519 public key, 32 bytes as base64. The secret is sealed to it."
    )


class RuntimeSecret(BaseModel):
    """Sealed is a JSON object: `username` and `password`, and either `registry` with `reference`, or `url`."""

    id: str
    purpose: Literal["artifact_pull"]
    digest: str = Field(description="The only artifact that it pulls.")
    kind: ArtifactKind
    expires_at: datetime = Field(description="It opens nothing from then on; ask for another.")
    format: str = Field(description="How it is sealed; see docs/reference/sealed-delivery.md.")
    sealed: str = Field(description="With `runtime-secret:<id>` as info.")
