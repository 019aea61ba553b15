"""Wire types of access credentials and their delivery. A private key is on the wire only sealed to its recipient."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gpuaas_server.access.schemas import PublicKeyLine, SourceAddresses, SshCertificate
from gpuaas_server.kernel.http.schemas import AllowedActions, Body, CorrelationId, Generation, Name, Reason
from gpuaas_server.kernel.ids import AllocationId
from gpuaas_server.secrets.schemas import SealedBox

CredentialKind = Literal["ssh_certificate", "ssh_key"]
RecipientKey = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$")]


class AccessCredentialCreate(Body):
    name: Name
    kind: CredentialKind = Field(
        default="ssh_certificate",
        description="`ssh_certificate`: a name to get certificates under. `ssh_key`: a key pair that the platform stores.",
    )


class AccessCredentialRotate(Body):
    overlap_minutes: Annotated[int, Field(ge=0, le=1440)] = Field(
        default=0, description="How long the old key stays valid on its allocations, in minutes."
    )


class AccessCredentialRevoke(Body):
    reason: Reason


class AccessCredential(BaseModel):
    id: str
    project_id: str
    name: str
    kind: CredentialKind
    version: int = Field(description="Number of the current key of an ssh_key; each rotation adds one.")
    public_key: str | None = Field(description="Public key of an ssh_key, as it is on the allocations.")
    fingerprint: str | None = Field(description="Fingerprint of an ssh_key: SHA256:…, as `ssh-keygen -l` prints it.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    rotated_at: datetime | None
    revoked_at: datetime | None = Field(description="When the credential was revoked; null while it is valid.")
    generation: Generation
    allowed_actions: AllowedActions


class AccessCredentialDeliver(Body):
    """For an ssh_key: `recipient_key`. For an ssh_certificate: `public_key` and `allocation_id`; `minutes` and
    `source_addresses` are optional.
    """

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
        default=None, description="The SSH public key to certify. The private key stays with you."
    )
    allocation_id: AllocationId | None = Field(default=None, description="The allocation that the certificate is for.")
    minutes: Annotated[int, Field(ge=1, le=60)] | None = Field(
        default=None, description="Lifetime of the certificate in minutes. Absent: the platform's default."
    )
    source_addresses: SourceAddresses = []


class CredentialDelivery(BaseModel):
    """An entry of the delivery log: who received which version, and for which key it was sealed or signed."""

    id: str
    credential_id: str
    version: int = Field(description="Version of the key pair that was delivered.")
    delivered_to: str = Field(description="Id of the user or service account.")
    recipient_fingerprint: str = Field(
        description="Fingerprint of the key that the private key was sealed to, or of the certified key."
    )
    allocation_id: str | None = Field(description="The allocation that the certificate is for.")
    serial: int | None = Field(description="Serial number of the certificate.")
    correlation_id: CorrelationId
    delivered_at: datetime


class NewCredentialDelivery(CredentialDelivery):
    sealed_private_key: SealedBox | None = Field(description="For an ssh_key: the sealed private key, an OpenSSH file.")
    certificate: SshCertificate | None = Field(description="For an ssh_certificate: the certificate.")
