"""The rows of an instance's secrets. The values are in the secret store (`secrets`), sealed."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class InstanceSecretRow:
    instance_id: str
    name: str
    tenant_id: str
    project_id: str
    secret_id: str  # in the secret store
    version: int  # the one that holds; the one before is destroyed when a rotation has succeeded
    set_at: datetime
    set_by: str  # who gave this version, or the controller for whose operation it was made
    operation_id: str | None  # the operation that it was made for; null: a person gave it
    read_at: datetime | None  # when a controller last read it
