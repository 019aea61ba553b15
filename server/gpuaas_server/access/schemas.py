"""Wire types of machine access."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from gpuaas_server.identity.schemas import ServiceAccountCertificate
from gpuaas_server.kernel.http.schemas import Body, Moment, Name, Reason
from gpuaas_server.kernel.ids import CredentialId, PrincipalId, SshKeyId
from gpuaas_server.kernel.networks import IPV4_PATTERN, IPV6_PATTERN, parse_address, parse_network
from gpuaas_server.operations.schemas import LeaseToken
from gpuaas_server.secrets.schemas import PrivateKeyCustody

# The length is bounded as a whole: a repetition that is counted to thousands makes a pattern of megabytes.
PublicKeyLine = Annotated[
    str,
    StringConstraints(
        min_length=20,
        max_length=4221,
        pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/=]{16,}( [^\x00-\x1f\x7f]*)?$",
    ),
]


WIDEST_IPV4_SOURCE, WIDEST_IPV6_SOURCE = 24, 64


def _source(text: str) -> str:
    network = parse_network(text)
    if network.prefixlen < (WIDEST_IPV4_SOURCE if network.version == 4 else WIDEST_IPV6_SOURCE):
        raise ValueError(f"a network is /{WIDEST_IPV4_SOURCE} (IPv6: /{WIDEST_IPV6_SOURCE}) at most")
    if network.version == 6 and parse_address(text.partition("/")[0]).version == 4:
        raise ValueError("write a network of IPv4 addresses as IPv4: hosts see no IPv6 there")
    return str(network)


_IPV4_SOURCE = f"({IPV4_PATTERN})(/(2[4-9]|3[0-2]))?"
_IPV6_SOURCE = f"({IPV6_PATTERN})(/(6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-8]))?"
SourceAddress = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9A-Fa-f:.]{2,45}(/[1-9][0-9]{0,2})?$"),
    AfterValidator(_source),
    Field(json_schema_extra={"pattern": f"^({_IPV4_SOURCE}|{_IPV6_SOURCE})$"}),
]
SourceAddresses = Annotated[
    list[SourceAddress],
    Field(
        max_length=8,
        description="Addresses and networks that you will connect from, as the host sees them. The certificate works from"
        " these and from the address of this request. A network is /24 (IPv6: /64) at most.",
    ),
]


class PlatformKeyRotate(Body):
    kind: Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token"]
    reason: Reason


class PlatformKeyRetire(Body):
    reason: Reason
    force: bool = Field(
        default=False,
        description="For a TLS CA: retire it although some agents have not confirmed its successor; they are cut off until"
        " they enrol again. For a client CA: retire it although certificates that it signed are in use; they end.",
    )


class UnconfirmedNodes(BaseModel):
    alive: int = Field(description="Number of these nodes that are alive.")
    total: int = Field(description="Number of these nodes, lost ones included.")
    names: list[str] = Field(description="Names of the first twenty nodes, lost ones last.")


class PlatformKey(BaseModel):
    id: str
    kind: Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token"]
    state: Literal["next", "active", "trusted", "retired"] = Field(
        description="next: published, signs from `signs_from` on. active: signs. trusted: a newer key signs, and signatures"
        " of this one stay valid. retired: nothing that it signed is trusted."
    )
    public_key: str = Field(description="The public key as an OpenSSH line.")
    fingerprint: str = Field(description="Fingerprint of the public key: SHA256:…, as `ssh-keygen -l` prints it.")
    certificate: str | None = Field(
        description="The certificate in PEM, for the TLS CA, the client CA and the key that the registry trusts; otherwise"
        " null."
    )
    custody: PrivateKeyCustody
    secret_key_id: str | None = Field(
        description="Id of the secret store's key that wraps the private key; see `/secret-keys`."
    )
    signs_from: datetime = Field(
        description="When the key begins to sign. It is published earlier, so that everyone knows it by then."
    )
    created_at: datetime
    retired_at: datetime | None = Field(description="When the key was retired; null while it is trusted.")
    unconfirmed: UnconfirmedNodes | None = Field(
        default=None,
        description="Nodes whose agents do not trust this TLS CA yet; null for other kinds and for retired keys.",
    )


CertificateRequestPem = Annotated[
    str,
    StringConstraints(min_length=100, max_length=16_384, pattern=r"^[\x20-\x7e\r\n]*-----BEGIN [A-Z ]*REQUEST-----"),
]


class ServiceAccountCertificateCreate(Body):
    certificate_request: CertificateRequestPem = Field(
        description="A PKCS#10 request in PEM, as `openssl req -new` makes it. Its names are ignored."
    )
    days: int = Field(default=90, ge=1, le=365, description="Lifetime of the certificate in days.")


class NewServiceAccountCertificate(ServiceAccountCertificate):
    certificate: str = Field(
        description="The certificate in PEM. It is not secret, but it is not stored: it is shown only now."
    )


class SshCa(BaseModel):
    user_ca_keys: list[str] = Field(description="Authorities that hosts trust for logins.")
    host_ca_keys: list[str] = Field(description="Authorities that clients trust for host keys.")


class SshKeyCreate(Body):
    name: Name
    public_key: PublicKeyLine = Field(description="An OpenSSH public key line, as in id_ed25519.pub.")


class SshKey(BaseModel):
    id: str
    name: str
    public_key: str
    fingerprint: str = Field(description="SHA256:…, as `ssh-keygen -l` prints it.")
    created_at: datetime


class SshCertificateCreate(Body):
    public_key: PublicKeyLine = Field(description="The public key to certify. The private key stays with you.")
    minutes: Annotated[int, Field(ge=1, le=60)] | None = Field(
        default=None, description="Lifetime of the certificate in minutes. Absent: the platform's default."
    )
    source_addresses: SourceAddresses = []


class SshTarget(BaseModel):
    address: str = Field(description="Name or IP address of the host.")
    port: int = Field(description="Port of the host's sshd.")
    user: str = Field(description="The user name to log in with.")


class SshCertificate(BaseModel):
    certificate: str = Field(description="The certificate. Write it beside your private key, as <key>-cert.pub.")
    valid_before: datetime = Field(description="When the certificate expires. Request another before then.")
    serial: int = Field(
        description="Serial number of the certificate, as sshd logs it; use it to revoke the certificate."
    )
    principal: str = Field(description="The principal that sshd accepts: the id of the allocation.")
    ssh: SshTarget = Field(description="Where to log in.")
    host_ca_keys: list[str] = Field(description="Authorities to trust for the host's key, as OpenSSH lines.")
    known_hosts_line: str = Field(
        description="A line for known_hosts that trusts the host CA for this address and for `-o HostKeyAlias=<allocation"
        " id>`."
    )
    source_addresses: list[str] = Field(
        description="Networks that the host accepts the certificate from. Empty: it accepts it from everywhere, because the"
        " operator has turned the check off and the request named none."
    )


class IssuedSshCertificate(BaseModel):
    serial: int = Field(description="Serial number of the certificate, as sshd logs it.")
    issued_to: str = Field(description="Id of the user or service account.")
    fingerprint: str = Field(description="Fingerprint of the certified key.")
    valid_before: datetime
    revoked_at: datetime | None
    created_at: datetime
    access_credential_id: str | None = Field(
        default=None, description="The credential that the certificate was issued through."
    )
    operation_id: str | None = Field(
        default=None, description="The operation that the certificate was issued for, and ends with."
    )


class IssuedSshCertificates(BaseModel):
    items: list[IssuedSshCertificate]
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last page.")


class SshCertificateRevoke(Body):
    """One certificate by its serial number, or all of one user or service account. With neither: all that you may revoke."""

    serial: Annotated[int, Field(ge=1, le=2**53 - 1)] | None = Field(
        default=None, description="Serial number of the certificate to revoke."
    )  # what every JSON reader keeps exact
    issued_to: PrincipalId | None = Field(
        default=None, description="Id of the user or service account whose certificates to revoke."
    )
    reason: Reason


class RevokedSshCertificates(BaseModel):
    revoked: list[int] = Field(
        description="Serial numbers of the certificates that were revoked. The host is notified immediately."
    )


GRANT_KEYS = ("public_key", "ssh_key_id", "access_credential_id")


class SshGrantCreate(Body):
    """Exactly one of: a public key, one of your stored keys, or a credential of the project (of kind ssh_key)."""

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
    public_key: PublicKeyLine | None = Field(
        default=None, description="An OpenSSH public key line, as in id_ed25519.pub."
    )
    ssh_key_id: SshKeyId | None = Field(default=None, description="Id of one of your stored keys.")
    access_credential_id: CredentialId | None = Field(
        default=None, description="Id of a credential of the project, of kind ssh_key."
    )
    expires_at: Moment = Field(description="When the grant ends: in the future, within a year, with a time zone.")
    note: Name | None = Field(default=None, description="Whose key it is, or its purpose.")


class SshGrant(BaseModel):
    id: str
    allocation_id: str
    granted_to: str = Field(description="Id of the user or service account, or of the credential whose key it is.")
    public_key: str
    fingerprint: str = Field(description="SHA256:…, as `ssh-keygen -l` prints it.")
    note: str | None = Field(description="Whose key it is, or its purpose.")
    expires_at: datetime
    revoked_at: datetime | None = Field(description="When the grant was revoked; null if it was not.")
    created_at: datetime


class MachineAccessCreate(Body):
    lease_token: LeaseToken = Field(description="The lease token of the claim.")
    public_key: PublicKeyLine = Field(
        description="A public key that you made for this operation. The private key stays with you."
    )
    source_addresses: SourceAddresses = []


class UnreachableAllocation(BaseModel):
    allocation_id: str
    state: str = Field(description="State of the allocation, which is why nobody can log in.")


class MachineAccess(BaseModel):
    """Certificates of one operation. They end with the operation, even before `valid_before`."""

    operation_id: str
    valid_before: datetime = Field(description="When all of these certificates expire. Request others before then.")
    certificates: list[SshCertificate] = Field(
        description="One certificate for each allocation; its principal is the allocation's id."
    )
    unreachable: list[UnreachableAllocation] = Field(description="Allocations of the operation that are not active.")
