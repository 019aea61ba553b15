"""The rows of access: each class has the columns of one table, or of one question to the database."""

from datetime import datetime

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NewCertificate:
    """The columns that issuing a certificate writes; the database draws the serial."""

    tenant_id: str
    project_id: str
    allocation_id: str
    key_id: str
    issued_to: str
    fingerprint: str
    valid_before: datetime
    created_at: datetime
    access_credential_id: str | None
    operation_id: str | None


@dataclass(frozen=True, slots=True)
class CertificateSerial:
    """The serial that the database drew for a new certificate."""

    serial: int
    allocation_id: str
    key_id: str


@dataclass(frozen=True, slots=True)
class CertificateRow:
    serial: int
    issued_to: str
    fingerprint: str
    valid_before: datetime
    revoked_at: datetime | None
    created_at: datetime
    access_credential_id: str | None
    operation_id: str | None


@dataclass(frozen=True, slots=True)
class RevokedCertificate:
    allocation_id: str
    tenant_id: str
    project_id: str
    serial: int


@dataclass(frozen=True, slots=True)
class SshKeyRow:
    id: str
    tenant_id: str
    user_id: str
    name: str
    public_key: str
    fingerprint: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class GrantRow:
    id: str
    tenant_id: str
    project_id: str
    allocation_id: str
    granted_to: str
    public_key: str
    fingerprint: str
    note: str | None
    expires_at: datetime
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """A credential of a project. The three nullable fields before `created_by` are set where its key is in custody."""

    id: str
    tenant_id: str
    project_id: str
    name: str
    kind: str
    secret_id: str | None
    public_key: str | None
    fingerprint: str | None
    created_by: str
    created_at: datetime
    version: int = 1
    generation: int = 1
    rotated_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    id: str
    tenant_id: str
    project_id: str
    credential_id: str
    version: int
    delivered_to: str
    recipient_fingerprint: str
    allocation_id: str | None
    serial: int | None
    correlation_id: str
    delivered_at: datetime
