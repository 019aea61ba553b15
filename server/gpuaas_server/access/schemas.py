"""Wire types of machine access."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Moment, Name, Reason
from gpuaas_server.kernel.ids import CredentialId, PrincipalId, SshKeyId

PublicKeyLine = Annotated[
    str,
    StringConstraints(
        min_length=20,
        max_length=4500,
        pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/=]{16,4000}( [^\x00-\x1f\x7f]{0,200})?$",
    ),
]


class PlatformKeyRotate(Body):
    """Agents pin the TLS CA when they enrol, so that one is not rotated here."""

    kind: Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "registry_token"]
    reason: Reason


class PlatformKeyRetire(Body):
    reason: Reason


class PlatformKey(BaseModel):
    id: str
    kind: Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "registry_token"]
    public_key: str = Field(description="As an OpenSSH line.")
    certificate: str | None = Field(description="PEM; of the TLS CA, and of the key that the registry trusts.")
    signs_from: datetime = Field(description="Published before it signs, so that everybody knows it by then.")
    created_at: datetime
    retired_at: datetime | None = Field(description="Since when nothing that it signed is trusted.")


class SshCa(BaseModel):
    user_ca_keys: list[str] = Field(description="Hosts trust these for logins.")
    host_ca_keys: list[str] = Field(description="Clients trust these for host keys.")


class SshKeyCreate(Body):
    name: Name
    public_key: PublicKeyLine


class SshKey(BaseModel):
    id: str
    name: str
    public_key: str
    fingerprint: str
    created_at: datetime


class SshCertificateCreate(Body):
    public_key: PublicKeyLine
    minutes: Annotated[int, Field(ge=1, le=60)] | None = None


class SshTarget(BaseModel):
    address: str
    port: int
    user: str


class SshCertificate(BaseModel):
    certificate: str = Field(description="Write it beside your private key as <key>-cert.pub.")
    valid_before: datetime
    serial: int
    principal: str
    ssh: SshTarget
    host_ca_keys: list[str]
    known_hosts_line: str = Field(
        description="For known_hosts: trusts the host CA for this address, and for `-o HostKeyAlias=<allocation id>`."
    )


class IssuedSshCertificate(BaseModel):
    serial: int = Field(description="As sshd logs it.")
    issued_to: str = Field(description="The user or service account.")
    fingerprint: str
    valid_before: datetime
    revoked_at: datetime | None
    created_at: datetime
    access_credential_id: str | None = Field(default=None, description="The credential that it was issued through.")
    operation_id: str | None = Field(default=None, description="The operation that it was issued for, and ends with.")


class IssuedSshCertificates(BaseModel):
    items: list[IssuedSshCertificate]
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last one.")


class SshCertificateRevoke(Body):
    """One by its serial, all of one holder, or with neither all that you may revoke."""

    serial: Annotated[int, Field(ge=1, le=2**53 - 1)] | None = None  # what every JSON reader keeps exact
    issued_to: PrincipalId | None = None
    reason: Reason


class RevokedSshCertificates(BaseModel):
    revoked: list[int] = Field(description="Serials that opened the door until now; the host is told at once.")


GRANT_KEYS = ("public_key", "ssh_key_id", "access_credential_id")


class SshGrantCreate(Body):
    """A public key, one of your stored keys, or a credential of the project (of kind ssh_key): one of the three."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in GRANT_KEYS]
        }
    )
    public_key: PublicKeyLine | None = None
    ssh_key_id: SshKeyId | None = None
    access_credential_id: CredentialId | None = None
    expires_at: Moment
    note: Name | None = None


class SshGrant(BaseModel):
    id: str
    allocation_id: str
    granted_to: str = Field(description="The user or service account, or the credential whose key it is.")
    public_key: str
    fingerprint: str
    note: str | None
    expires_at: datetime
    revoked_at: datetime | None
    created_at: datetime


class UnreachableAllocation(BaseModel):
    allocation_id: str
    state: str


class MachineAccess(BaseModel):
    """Certificates of one operation. They end with it, whatever `valid_before` says."""

    operation_id: str
    valid_before: datetime
    certificates: list[SshCertificate] = Field(description="One for each allocation; its principal is the allocation.")
    unreachable: list[UnreachableAllocation] = Field(description="Allocations of the operation that are not active.")
