"""Wire types of artifacts, publish intents and trust."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel import digests
from gpuaas_server.kernel.http.schemas import LINES, ONE_LINE, AllowedActions, Body, Generation, Name, Reason, examples

Digest = Annotated[str, StringConstraints(pattern=digests.PATTERN)]
# Also the last part of a repository's name, which is stricter than our slugs about nothing but its end.
ArtifactName = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
MediaType = Annotated[str, StringConstraints(max_length=127, pattern=r"^[a-z0-9]+/[A-Za-z0-9!#$&^_.+-]+$")]
Base64 = Annotated[str, StringConstraints(min_length=4, max_length=2048, pattern="^[A-Za-z0-9+/]+={0,2}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=LINES)]
ArtifactKind = Literal["oci", "blob"]
StageName = Literal["draft", "staged", "canary", "active", "deprecated", "retired"]
TrustName = Literal["unverified", "verified", "failed_verification", "revoked"]
EvidenceKind = Literal["lint", "smoke"]
EvidenceSource = Literal["platform", "publisher", "development"]


# Host with an optional port, repository, digest. No tag: it would be another image tomorrow.
ImageReferenceText = Annotated[
    str,
    StringConstraints(
        max_length=500,
        pattern=r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?"
        r"(/[a-z0-9]+([._-]+[a-z0-9]+)*)+@sha256:[0-9a-f]{64}$",
    ),
]


class PullCredentialSet(Body):
    """A user name and a password for one external registry. They are sealed at once and never shown."""

    username: Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^:\x00-\x1f\x7f]+$")] = Field(
        description="The user name, without a colon."
    )
    password: Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=ONE_LINE)] = Field(
        description="The password, or a token of the registry. It should permit only pulls: hosts get it to pull the image.",
        repr=False,
        json_schema_extra={"writeOnly": True},
    )


class ExternalImageCreate(Body):
    model_config = examples(
        {
            "name": "trainer",
            "reference": "registry.example.com/team/trainer@sha256:" + "0123456789abcdef" * 4,
            "credential": {"username": "puller", "password": "a token that may pull"},
        }
    )

    name: ArtifactName = Field(description="Name shared by all versions of the image.")
    reference: ImageReferenceText = Field(description="The image by its digest: `host/repository@sha256:…`.")
    credential: PullCredentialSet | None = Field(
        default=None, description="A credential to read and pull the image. Absent: the image is public."
    )


class ArtifactAnnouncement(Body):
    model_config = examples({"kind": "oci", "name": "echo"}, {"kind": "blob", "name": "weights", "size_bytes": 1048576})

    kind: ArtifactKind = Field(description="`oci`: an image, pushed to the registry. `blob`: any other bytes.")
    name: ArtifactName = Field(description="Name shared by all versions of the artifact; the digest tells them apart.")
    media_type: MediaType = Field(default="application/octet-stream", description="Media type of a blob.")
    size_bytes: int | None = Field(
        default=None, ge=0, le=1 << 50, description="Size, if known. An upload of another size is refused."
    )
    digest: Digest | None = Field(
        default=None,
        description="Digest of a blob, if known. It identifies an interrupted upload. Bytes that the project already has are"
        " refused at once.",
    )


class PublishIntentComplete(Body):
    model_config = examples({"digest": "sha256:" + "0123456789abcdef" * 4})

    digest: Digest = Field(
        description="Digest of the blob, or of the image's manifest. It is checked against the bytes."
    )


class UploadTicket(BaseModel):
    """The ticket says where to send the bytes. This API takes them only if the platform keeps blobs in its own directory."""

    method: str = Field(description="HTTP method for the upload.")
    url: str = Field(
        description="Where to send the bytes. A path belongs to this API and takes your access token; for any other URL, send"
        " no token."
    )
    authorised: bool = Field(description="Whether the request takes your access token.")
    headers: dict[str, str] = Field(description="Headers to send with the bytes.")


class PushTarget(BaseModel):
    """Push here with any OCI client: `<registry>/<repository>:<any tag>`."""

    registry: str = Field(description="Host and port of the registry.")
    repository: str = Field(description="Repository of this project and name.")


class PublishFailure(BaseModel):
    code: str = Field(description="A stable code; see contract/error-codes.json.")
    message: str = Field(description="An explanation for people.")
    next_step: str = Field(description="What a person should do next.")
    retryable: bool = Field(description="Whether publishing the same bytes again may succeed.")


class PublishIntent(BaseModel):
    id: str
    project_id: str
    kind: ArtifactKind
    name: str
    media_type: str
    size_bytes: int | None = Field(description="Announced size; null if none was announced.")
    reference: str | None = Field(description="The image in an external registry; null for bytes that are sent here.")
    digest: str | None = Field(description="The digest that the publisher announced or registered; null before.")
    part_bytes: int | None = Field(
        description="Size of each part of an upload in parts; the last may be smaller. Null: the bytes are sent as a whole."
    )
    state: Literal["open", "verifying", "registered", "failed", "expired", "cancelled"]
    deadline_at: datetime | None = Field(description="When the intent expires; null once it has ended.")
    upload: UploadTicket | None = Field(
        description="Where to upload the blob of an open intent as a whole; null if it is too large for one request."
    )
    push: PushTarget | None = Field(description="Where to push the image of an open intent.")
    failure: PublishFailure | None = Field(description="Why the intent failed; otherwise null.")
    artifact_id: str | None = Field(description="Id of the artifact, once `registered`.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    ended_at: datetime | None = Field(description="When the intent was registered, failed, expired or was cancelled.")
    generation: Generation
    allowed_actions: AllowedActions


class UploadPartsRequest(Body):
    model_config = examples({"after": 0, "limit": 100})

    after: int = Field(default=0, ge=0, le=10_000, description="Parts with larger numbers than this.")
    limit: int = Field(default=100, ge=1, le=1000, description="Largest number of parts in the answer.")


class UploadPart(BaseModel):
    number: int = Field(description="Number of the part, from 1.")
    offset: int = Field(description="Where the part begins in the blob.")
    size_bytes: int = Field(description="Size of the part. Another size is refused.")
    received: bool = Field(description="Whether the part has arrived.")
    upload: UploadTicket | None = Field(
        description="Where to send the part; null once it has arrived. A URL of a bucket is valid for an hour."
    )


class UploadParts(BaseModel):
    count: int = Field(description="Number of all parts.")
    deadline_at: datetime = Field(description="When the intent expires unless more parts are requested or sent.")
    parts: list[UploadPart] = Field(description="Parts in the order of their numbers.")


class UploadedPart(BaseModel):
    number: int
    size_bytes: int


class UploadedContent(BaseModel):
    """The received bytes. They are not published yet."""

    digest: str = Field(
        description="Digest of the received bytes. Compare it with yours before you complete the intent."
    )
    size_bytes: int


class Artifact(BaseModel):
    id: str
    project_id: str
    kind: ArtifactKind
    name: str
    digest: str = Field(description="sha256:… of the blob, or of the image's manifest.")
    size_bytes: int
    media_type: str = Field(description="Media type that the publisher announced.")
    reference: str | None = Field(description="For an image: the reference to pull, by digest.")
    registry: str | None = Field(
        description="Host of the external registry that has the image; null: the platform's own."
    )
    has_credential: bool = Field(
        description="Whether the image is pulled with a credential of its publisher. Only its own tenant can launch it."
    )
    stage: StageName = Field(description="Stage of the artifact. Only active artifacts and canaries are launched.")
    stage_since: datetime
    canary_percent: int = Field(
        description="Share of the projects that a canary is for, in percent; 0 in other stages."
    )
    trust: TrustName = Field(description="Result of the checks of bytes and signatures. `revoked` is permanent.")
    trust_detail: str = Field(description="Why the artifact is trusted or not, for people.")
    signed_by: list[str] = Field(description="Fingerprints of the tenant's trust keys with a valid signature.")
    checking: bool = Field(description="Whether bytes and signatures are being checked now.")
    deleting: bool = Field(description="Whether the bytes are being removed. The artifact disappears afterwards.")
    checked_at: datetime | None = Field(description="When bytes and signatures were last checked.")
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
        description="The next stage (draft, staged, canary, active, deprecated, retired), or back from canary to staged."
    )
    canary_percent: int | None = Field(
        default=None, ge=1, le=100, description="Share of the projects, in percent. Only for a canary."
    )
    reason: Reason


class ArtifactVerify(Body):
    signatures: list[Base64] = Field(
        default_factory=list,
        max_length=20,
        description="Signatures of a blob (`cosign sign-blob`). Those of an image are beside it in the registry.",
    )


class ArtifactRevoke(Body):
    reason: Reason


class GarbageArtifact(BaseModel):
    """An artifact that no app version and no instance refers to."""

    id: str
    name: str
    kind: ArtifactKind
    digest: str
    stage: StageName
    size_bytes: int = Field(description="Bytes that its removal frees; 0 for an image in an external registry.")
    reason: str = Field(description="Why it can be removed, for people.")
    collectable_at: datetime = Field(description="When its grace period ends.")
    due: bool = Field(description="Whether a collection would remove it now.")


class ArtifactCollectionStart(Body):
    model_config = examples({"reason": "the quota is nearly used up"})

    reason: Reason
    after: Annotated[str, StringConstraints(pattern="^art_[0-9a-z]{26}$")] | None = Field(
        default=None, description="`next_cursor` of the previous answer, to continue."
    )


class ArtifactCollection(BaseModel):
    items: list[GarbageArtifact] = Field(description="What is being deleted.")
    size_bytes: int = Field(description="Bytes that this frees.")
    next_cursor: str | None = Field(description="Send as `after` to continue; null when all artifacts were examined.")


class EvidenceAdd(Body):
    model_config = examples({"kind": "smoke", "passed": True, "tool": "echo-smoke 0.1", "summary": "12 of 12 passed"})

    kind: EvidenceKind = Field(description="Kind of the run: a lint, or a smoke test of the artifact.")
    passed: bool = Field(description="Whether the run passed. Failed runs can be recorded too.")
    tool: Name = Field(description="Name and version of the tool.")
    summary: Text = Field(description="The result in words, or where to find the report.")
    development: bool = Field(
        default=False,
        description="Whether the artifact only ran during development. Such evidence is shown, but counts for no promotion.",
    )


class Evidence(BaseModel):
    id: str
    artifact_id: str
    kind: EvidenceKind
    passed: bool
    tool: str
    summary: str
    source: EvidenceSource = Field(
        description="Source of the evidence: the `platform` itself, its `publisher`, or a run for `development`, which counts"
        " for no promotion."
    )
    operation_id: str | None = Field(description="The operation that showed it; null if none did.")
    submitted_by: str = Field(description="Id of the user or service account; `system` for the platform.")
    created_at: datetime


class TrustPolicySet(Body):
    model_config = examples({"require_signature": True, "reason": "all our builds are signed since May"})

    require_signature: bool = Field(
        description="Whether the tenant launches only artifacts that one of its trust keys signed."
    )
    require_smoke_launch: bool | None = Field(
        default=None,
        description="Whether images, and files that an app version names, are staged only after the platform itself has"
        " launched them. Absent: as before.",
    )
    reason: Reason


class TrustPolicy(BaseModel):
    tenant_id: str
    require_signature: bool = Field(
        description="Whether the tenant launches only artifacts that one of its trust keys signed."
    )
    require_smoke_launch: bool = Field(
        description="Whether images, and files that an app version names, are staged only after the platform itself has"
        " launched them."
    )
    updated_by: str | None = Field(description="Id of the person who set the policy; null while it is the default.")
    updated_at: datetime | None
    generation: Generation


class TrustKeyCreate(Body):
    name: Name
    public_key: Annotated[str, StringConstraints(min_length=50, max_length=4000)] = Field(
        description="The public key in PEM, as in cosign.pub."
    )


class TrustKeyRevoke(Body):
    reason: Reason


class TrustKey(BaseModel):
    id: str
    name: str
    public_key: str
    fingerprint: str = Field(description="Fingerprint of the key, as in an artifact's `signed_by`.")
    algorithm: str = Field(description="Algorithm of the key, such as ecdsa-secp256r1 or rsa-3072.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    revoked_at: datetime | None
    revoked_reason: str | None


class RegistryToken(BaseModel):
    """A token of the registry token protocol, with its field names."""

    token: str
    access_token: str = Field(description="The same token, under the protocol's other name.")
    expires_in: int = Field(description="Lifetime of the token in seconds.")
    issued_at: datetime


class RuntimeSecretCreate(Body):
    lease_token: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern="^[!-~]+$")] = Field(
        description="The lease token of the claim."
    )
    purpose: Literal["artifact_pull"] = "artifact_pull"
    recipient_key: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{43}=$")] = Field(
        description="Your X25519 public key, 32 bytes as base64. The secret is sealed to it."
    )
    digest: Annotated[str, StringConstraints(pattern="^sha256:[0-9a-f]{64}$")] | None = Field(
        default=None,
        description="Which artifact of the version: a component's image, or a file of a runtime profile. Absent: its own.",
    )


class RuntimeSecret(BaseModel):
    """A sealed JSON object with `username` and `password`, and either `registry` with `reference`, or `url`.

        `trust` has the certificates of the platform's own authorities, which sign for its registry and its API. `tls` is false
    for a registry that speaks plain HTTP. For an image in an external registry, `username` and `password` are the
    publisher's for that registry, or empty for a public image. `size_bytes` is the compressed size of all layers of an image.
    For an image, `signature_policy` is the trust policy of the tenant that launches: `require_signature`, and its `keys` that
    are not revoked, each with `fingerprint`, `algorithm` and `public_key` (PEM). The host checks the image by this policy.
    """

    id: str
    purpose: Literal["artifact_pull"]
    digest: str = Field(description="Digest of the only artifact that the secret can pull.")
    kind: ArtifactKind
    expires_at: datetime = Field(description="When the secret expires. Request another before then.")
    format: str = Field(description="How the secret is sealed; see docs/reference/sealed-delivery.md.")
    sealed: str = Field(description="The sealed secret, with `runtime-secret:<id>` as info.")
