"""Machine access: a person's SSH keys, certificates for one allocation, grants with an end."""

from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.projects import moment
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class SshKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    fingerprint: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshEndpoint:
    address: str = ""
    port: int = 22
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class SshCertificate(Resource):
    certificate: str
    ssh: SshEndpoint
    principal: str = ""
    serial: int | str = 0
    valid_before: datetime | None = None
    host_ca_keys: list[str] = field(default_factory=list)
    known_hosts_line: str = ""


@dataclass(frozen=True, kw_only=True)
class IssuedSshCertificate(Resource):
    """A certificate as the platform remembers it; sshd logs its serial."""

    serial: int
    issued_to: str = ""
    fingerprint: str = ""
    valid_before: datetime | None = None
    revoked_at: datetime | None = None
    created_at: datetime | None = None
    access_credential_id: str | None = None
    operation_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class UnreachableAllocation(Resource):
    allocation_id: str
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class MachineAccess(Resource):
    """Certificates of an operation, one for each allocation; they end with it."""

    operation_id: str
    valid_before: datetime | None = None
    certificates: list[SshCertificate] = field(default_factory=list)
    unreachable: list[UnreachableAllocation] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class RevokedSshCertificates(Resource):
    revoked: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SshGrant(Resource):
    id: str
    allocation_id: str = ""
    public_key: str = ""
    fingerprint: str = ""
    granted_to: str = ""
    note: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SshCa(Resource):
    user_ca_keys: list[str] = field(default_factory=list)
    host_ca_keys: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PlatformKey(Resource):
    """A key of the platform itself: signs tasks, SSH certificates, or the API's TLS certificate."""

    id: str
    kind: str = ""
    public_key: str = ""
    certificate: str | None = None
    signs_from: datetime | None = None
    created_at: datetime | None = None
    retired_at: datetime | None = None


class PlatformKeys(Calls):
    """For operators to read, for platform administrators to change."""

    def list(self) -> Pages[PlatformKey]:
        return self._pages(PlatformKey, "platform-keys")

    def rotate(self, kind: str, reason: str) -> PlatformKey:
        """A new key: published now, signing later; older ones are trusted until they are retired."""
        return self._change("POST", PlatformKey, "platform-keys", "rotate", body={"kind": kind, "reason": reason})

    def retire(self, key_id: str, reason: str) -> PlatformKey:
        return self._change("POST", PlatformKey, "platform-keys", key_id, "retire", body={"reason": reason})


class SshKeys(Calls):
    """The caller's own keys; users only."""

    def list(self) -> Pages[SshKey]:
        return self._pages(SshKey, "me", "ssh-keys")

    def create(self, name: str, public_key: str) -> SshKey:
        body = {"name": name, "public_key": public_key}
        return self._change("POST", SshKey, "me", "ssh-keys", body=body)

    def delete(self, key_id: str) -> None:
        self._discard("DELETE", "me", "ssh-keys", key_id)

    def authorities(self) -> SshCa:
        return self._read(SshCa, "ssh-ca")


class SshAccess(Calls):
    """Access to one allocation."""

    def certificate(
        self, project_id: str, allocation_id: str, public_key: str, minutes: int | None = None
    ) -> SshCertificate:
        body = given(public_key=public_key, minutes=minutes)
        path = (*_allocation(project_id, allocation_id), "ssh-certificates")
        return self._change("POST", SshCertificate, *path, body=body)

    def for_operation(self, project_id: str, operation_id: str, lease_token: str, public_key: str) -> MachineAccess:
        """For the controller that holds the lease: a certificate for each allocation of the operation."""
        path = ("projects", project_id, "operations", operation_id, "machine-access")
        body = {"lease_token": lease_token, "public_key": public_key}
        return self._change("POST", MachineAccess, *path, body=body)

    def certificates(self, project_id: str, allocation_id: str) -> Pages[IssuedSshCertificate]:
        return self._pages(IssuedSshCertificate, *_allocation(project_id, allocation_id), "ssh-certificates")

    def revoke_certificates(
        self,
        project_id: str,
        allocation_id: str,
        *,
        reason: str,
        serial: int | None = None,
        issued_to: str | None = None,
    ) -> RevokedSshCertificates:
        """One by its serial, those of one holder, or all that the caller may revoke."""
        body = given(reason=reason, serial=serial, issued_to=issued_to)
        path = (*_allocation(project_id, allocation_id), "ssh-certificates", "revoke")
        return self._change("POST", RevokedSshCertificates, *path, body=body)

    def grants(self, project_id: str, allocation_id: str) -> Pages[SshGrant]:
        return self._pages(SshGrant, *_allocation(project_id, allocation_id), "ssh-grants")

    def create_grant(
        self,
        project_id: str,
        allocation_id: str,
        *,
        expires_at: datetime,
        public_key: str | None = None,
        ssh_key_id: str | None = None,
        access_credential_id: str | None = None,
        note: str | None = None,
    ) -> SshGrant:
        body = given(
            public_key=public_key,
            ssh_key_id=ssh_key_id,
            access_credential_id=access_credential_id,
            expires_at=moment(expires_at),
            note=note,
        )
        path = (*_allocation(project_id, allocation_id), "ssh-grants")
        return self._change("POST", SshGrant, *path, body=body)

    def delete_grant(self, project_id: str, allocation_id: str, grant_id: str) -> None:
        path = (*_allocation(project_id, allocation_id), "ssh-grants", grant_id)
        self._discard("DELETE", *path)


def _allocation(project_id: str, allocation_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "allocations", allocation_id)
