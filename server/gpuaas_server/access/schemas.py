"""Wire types of machine access."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gpuaas_server.identity.schemas import ServiceAccountCertificate
from gpuaas_server.kernel.http.schemas import Body, Moment, Name, Reason
from gpuaas_server.kernel.ids import CredentialId, PrincipalId, SshKeyId
from gpuaas_server.operations.schemas import LeaseToken
from gpuaas_server.secrets.schemas import PrivateKeyCustody

PublicKeyLine = Annotated[
    str,
    StringConstraints(
        min_length=20,
        max_length=4500,
        pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/=]{16,4000}( [^\x00-\x1f\x7f]{0,200})?$",
    ),
]


class PlatformKeyRotate(Body):
    kind: Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token"]
    reason: Reason


class PlatformKeyRetire(Body):
    reason: Reason
    force: bool = Field(
        default=False,
        description="Of a TLS CA: though agents have not confirmed its successor. They are cut off until they enrol again."
        " Of a client CA: though certificates that it signed are in use. They end.",
    )


class UnconfirmedNodes(BaseModel):
    heard: int = Field(description="How many of them are alive.")
    total: int = Field(description="How many there are, lost ones included.")
    names: list[str] = Field(description="The first twenty; lost ones last.")


class PlatformKey(BaseModel):
    id: str
    kind: Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token"]
    state: Literal["next", "active", "trusted", "retired"] = Field(
        description="next: published, and signs from `signs_from`. active: it signs. trusted: a newer one signs, what this"
        " one signed is still good. retired: nothing that it signed is trusted."
    )
    public_key: str = Field(description="As an OpenSSH line.")
    fingerprint: str = Field(description="Of the public key: SHA256:…, as ssh-keygen -l shows it.")
    certificate: str | None = Field(
        description="PEM; of the TLS and the client CA, and of the key that the registry trusts."
    )
    custody: PrivateKeyCustody
    secret_key_id: str | None = Field(description="The secret store's key that wraps it: an id of `/secret-keys`.")
    signs_from: datetime = Field(description="Published before it signs, so that everybody knows it by then.")
    created_at: datetime
    retired_at: datetime | None = Field(description="Since when nothing that it signed is trusted.")
    unconfirmed: UnconfirmedNodes | None = Field(
        default=None, description="Of a TLS CA that is not retired: nodes whose agents do not trust it yet."
    )


CertificateRequestPem = Annotated[
    str,
    StringConstraints(min_length=100, max_length=16_384, pattern=r"^[\x20-\x7e\r\n]*-----BEGIN [A-Z ]*REQUEST-----"),
]


class ServiceAccountCertificateCreate(Body):
    certificate_request: CertificateRequestPem = Field(
        description="PKCS#10 in PEM, as `openssl req -new` makes it. Its names are ignored."
    )
    days: int = Field(default=90, ge=1, le=365, description="How long the certificate is good.")


class NewServiceAccountCertificate(ServiceAccountCertificate):
    certificate: str = Field(description="PEM. It is no secret; it is not kept, so that it is shown only now.")


class SshCa(BaseModel):
    user_ca_keys: list[str] = Field(description="Hosts trust these for logins.")
    host_ca_keys: list[str] = Field(description="Clients trust these for host keys.")


class SshKeyCreate(Body):
    name: Name
    public_key: PublicKeyLine = Field(description="A line as in id_ed25519.pub.")


class SshKey(BaseModel):
    id: str
    name: str
    public_key: str
    fingerprint: str = Field(description="SHA256:…, as ssh-keygen -l shows it.")
    created_at: datetime


class SshCertificateCreate(Body):
    public_key: PublicKeyLine = Field(description="Of the key pair that will log in; the private side stays with you.")
    minutes: Annotated[int, Field(ge=1, le=60)] | None = Field(
        default=None, description="How long it is good; absent: the platform's default."
    )


class SshTarget(BaseModel):
    address: str = Field(description="Name or IP address of the host.")
    port: int
    user: str = Field(description="The account to log in as.")


class SshCertificate(BaseModel):
    certificate: str = Field(description="Write it beside your private key as <key>-cert.pub.")
    valid_before: datetime = Field(description="Ask for another before then.")
    serial: int = Field(description="As sshd logs it, and as it is revoked by.")
    principal: str = Field(description="Whom it logs in as to sshd: the allocation.")
    ssh: SshTarget
    host_ca_keys: list[str] = Field(description="Trust these for the host's key, as OpenSSH lines.")
    known_hosts_line: str = Field(
        description="For known_hosts: trusts the host CA for this address, and for `-o HostKeyAlias=<allocation id>`."
    )


class IssuedSshCertificate(BaseModel):
    serial: int = Field(description="As sshd logs it.")
    issued_to: str = Field(description="The user or service account.")
    fingerprint: str = Field(description="Of the key that it was issued for.")
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

    serial: Annotated[int, Field(ge=1, le=2**53 - 1)] | None = Field(
        default=None, description="This one."
    )  # what every JSON reader keeps exact
    issued_to: PrincipalId | None = Field(default=None, description="All of this user or service account.")
    reason: Reason


class RevokedSshCertificates(BaseModel):
    revoked: list[int] = Field(description="Serials that opened the door until now; the host is told at once.")


GRANT_KEYS = ("public_key", "ssh_key_id", "access_credential_id")


class SshGrantCreate(Body):
    """A public key, one of your stored keys, or a credential of the project (of kind ssh_key): one of the three."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in GRANT_KEYS],
            "examples": [
                {
                    "ssh_key_id": "ssk_01jd2m8k4t7w9x3c5v6b1n2q0a",
                    "expires_at": "2030-01-31T18:00:00Z",
                    "note": "Ada, on call",
                }
            ],
        }
    )
    public_key: PublicKeyLine | None = Field(default=None, description="A line as in id_ed25519.pub.")
    ssh_key_id: SshKeyId | None = Field(default=None, description="One of your own stored keys.")
    access_credential_id: CredentialId | None = Field(
        default=None, description="A credential of the project, of kind ssh_key."
    )
    expires_at: Moment = Field(description="In the future, within a year, with a time zone.")
    note: Name | None = Field(default=None, description="Whose key it is, or what for.")


class SshGrant(BaseModel):
    id: str
    allocation_id: str
    granted_to: str = Field(description="The user or service account, or the credential whose key it is.")
    public_key: str
    fingerprint: str = Field(description="SHA256:…, as ssh-keygen -l shows it.")
    note: str | None = Field(description="Whose key it is, or what for.")
    expires_at: datetime
    revoked_at: datetime | None = Field(description="When it was taken back before its time.")
    created_at: datetime


class MachineAccessCreate(Body):
    lease_token: LeaseToken = Field(description="Of the claim.")
    public_key: PublicKeyLine = Field(
        description="Of a key pair that you made for this; the private side stays with you."
    )


class UnreachableAllocation(BaseModel):
    allocation_id: str
    state: str = Field(description="Of the allocation: why there is no way in.")


class MachineAccess(BaseModel):
    """Certificates of one operation. They end with it, whatever `valid_before` says."""

    operation_id: str
    valid_before: datetime = Field(description="Of all of them; ask again before then.")
    certificates: list[SshCertificate] = Field(description="One for each allocation; its principal is the allocation.")
    unreachable: list[UnreachableAllocation] = Field(description="Allocations of the operation that are not active.")
