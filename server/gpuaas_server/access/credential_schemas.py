"""Wire types of access credentials and their delivery. A private key is on the wire only sealed to its recipient."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gpuaas_server.access.schemas import PublicKeyLine, SshCertificate
from gpuaas_server.kernel.http.schemas import AllowedActions, Body, CorrelationId, Generation, Name, Reason
from gpuaas_server.kernel.ids import AllocationId

CredentialKind = Literal["ssh_certificate", "ssh_key"]
RecipientKey = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$")]


class AccessCredentialCreate(Body):
    name: Name
    kind: CredentialKind = Field(
        default="ssh_certificate",
        description="`ssh_certificate`: a name to get certificates under. `ssh_key`: a key pair that is kept here.",
    )


class AccessCredentialRotate(Body):
    overlap_minutes: Annotated[int, Field(ge=0, le=1440)] = Field(
        default=0, description="How long the old key still opens the allocations that it is on."
    )


class AccessCredentialRevoke(Body):
    reason: Reason


class AccessCredential(BaseModel):
    id: str
    project_id: str
    name: str
    kind: CredentialKind
    version: int = Field(description="Counts the keys of an ssh_key: each rotation makes the next.")
    public_key: str | None = Field(description="Of an ssh_key: what is on the allocations.")
    fingerprint: str | None = Field(description="Of an ssh_key: SHA256:…, as ssh-keygen -l shows it.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    rotated_at: datetime | None
    revoked_at: datetime | None = Field(description="Since when it opens nothing.")
    generation: Generation
    allowed_actions: AllowedActions


class CredentialDeliveryCreate(Body):
    """Of an ssh_key: `recipient_key`. Of an ssh_certificate: `public_key` and `allocation_id`, and `minutes` if you like."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["recipient_key"], "properties": {"recipient_key": {"type": "string"}}},
                {
                    "required": ["public_key", "allocation_id"],
                    "properties": {"public_key": {"type": "string"}, "allocation_id": {"type": "string"}},
                },
            ]
        }
    )
    recipient_key: RecipientKey | None = Field(
        default=None, description="X25519 public key (32 bytes, base64) of a key pair that only the recipient has."
    )
    public_key: PublicKeyLine | None = Field(
        default=None, description="To be certified: of a key pair whose private side only you have."
    )
    allocation_id: AllocationId | None = Field(default=None, description="What the certificate opens.")
    minutes: Annotated[int, Field(ge=1, le=60)] | None = Field(
        default=None, description="How long the certificate is good; absent: the platform's default."
    )


class SealedBox(BaseModel):
    """HPKE (RFC 9180) in base mode; see docs/reference/sealed-delivery.md."""

    format: Literal["hpke-x25519-hkdf-sha256-aes256gcm.v1"]
    info: str = Field(description="What the box is about; opening it needs exactly this text.")
    box: str = Field(description="Encapsulated key (32 bytes) and ciphertext, base64.")


class CredentialDelivery(BaseModel):
    """A line of the delivery log: who got which version, and for which key it was sealed or signed."""

    id: str
    credential_id: str
    version: int = Field(description="Of the key pair that was delivered.")
    delivered_to: str = Field(description="Id of the user or service account.")
    recipient_fingerprint: str = Field(description="Of the key that it was sealed to or that was certified.")
    allocation_id: str | None = Field(description="What the certificate opens.")
    serial: int | None = Field(description="Of the certificate.")
    correlation_id: CorrelationId
    delivered_at: datetime


class NewCredentialDelivery(CredentialDelivery):
    sealed_private_key: SealedBox | None = Field(description="Of an ssh_key: the private key, an OpenSSH file.")
    certificate: SshCertificate | None = Field(description="Of an ssh_certificate.")
