"""Credentials of a project: certificates under a name, or a key pair in the platform's custody; and the keys of the store."""

from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.access import SshCertificate
from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.reader import Resource
from gpuaas_sdk.sealed import NotForUs, RecipientKey, SealedBox


@dataclass(frozen=True, kw_only=True)
class AccessCredential(Resource):
    id: str
    project_id: str = ""
    name: str = ""
    kind: str = ""
    version: int = 0
    public_key: str | None = None
    fingerprint: str | None = None
    created_by: str = ""
    created_at: datetime | None = None
    rotated_at: datetime | None = None
    revoked_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CredentialDelivery(Resource):
    """A line of the delivery log."""

    id: str
    credential_id: str = ""
    version: int = 0
    delivered_to: str = ""
    recipient_fingerprint: str = ""
    allocation_id: str | None = None
    serial: int | None = None
    correlation_id: str = ""
    delivered_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NewCredentialDelivery(CredentialDelivery):
    sealed_private_key: SealedBox | None = None
    certificate: SshCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class SecretKey(Resource):
    """A key that protects stored secrets, as operators see it."""

    id: str
    backend: str = ""
    version: int = 0
    protects: int = 0
    created_at: datetime | None = None
    retired_at: datetime | None = None


class AccessCredentials(Calls):
    def list(self, project_id: str) -> Pages[AccessCredential]:
        return self._pages(AccessCredential, *_credentials(project_id))

    def show(self, project_id: str, credential_id: str) -> AccessCredential:
        return self._read(AccessCredential, *_credentials(project_id), credential_id)

    def create(self, project_id: str, name: str, kind: str = "ssh_certificate") -> AccessCredential:
        body = {"name": name, "kind": kind}
        return self._change("POST", AccessCredential, *_credentials(project_id), body=body)

    def rotate(
        self, project_id: str, credential_id: str, overlap_minutes: int = 0, generation: int | None = None
    ) -> AccessCredential:
        """A new key pair on every allocation that has the old one, which ends now or after the overlap."""
        path, body = (*_credentials(project_id), credential_id, "rotate"), {"overlap_minutes": overlap_minutes}
        return self._change("POST", AccessCredential, *path, body=body, generation=generation)

    def revoke(self, project_id: str, credential_id: str, reason: str) -> AccessCredential:
        path = (*_credentials(project_id), credential_id, "revoke")
        return self._change("POST", AccessCredential, *path, body={"reason": reason})

    def deliver(
        self,
        project_id: str,
        credential_id: str,
        *,
        recipient_key: str | None = None,
        public_key: str | None = None,
        allocation_id: str | None = None,
        minutes: int | None = None,
    ) -> NewCredentialDelivery:
        """Of an ssh_key, with `recipient_key`; of an ssh_certificate, with `public_key` and `allocation_id`."""
        body = given(recipient_key=recipient_key, public_key=public_key, allocation_id=allocation_id, minutes=minutes)
        path = (*_credentials(project_id), credential_id, "deliveries")
        return self._change("POST", NewCredentialDelivery, *path, body=body)

    def private_key(self, project_id: str, credential_id: str) -> bytes:
        """The private key of an ssh_key, an OpenSSH file: sealed to a key of this call, and opened here."""
        mine = RecipientKey.new()
        delivery = self.deliver(project_id, credential_id, recipient_key=mine.public)
        if delivery.sealed_private_key is None:
            raise NotForUs("the delivery holds no private key")
        return mine.open(delivery.sealed_private_key)

    def deliveries(self, project_id: str, credential_id: str) -> Pages[CredentialDelivery]:
        return self._pages(CredentialDelivery, *_credentials(project_id), credential_id, "deliveries")


class SecretKeys(Calls):
    """The keys of the secret store: for operators to read, for platform administrators to rotate."""

    def list(self) -> Pages[SecretKey]:
        return self._pages(SecretKey, "secret-keys")

    def rotate(self, reason: str) -> SecretKey:
        return self._change("POST", SecretKey, "secret-keys", "rotate", body={"reason": reason})


def _credentials(project_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "access-credentials")
