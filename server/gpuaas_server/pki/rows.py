"""The rows of the platform's own keys."""

import base64
from datetime import datetime
from typing import Literal

from gpuaas_server.kernel.dataclass import dataclass

KeyKind = Literal["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token"]


@dataclass(frozen=True, slots=True)
class PlatformKeyRow:
    """The columns that making a key writes."""

    id: str
    kind: KeyKind
    public_key: str  # as an OpenSSH line
    certificate: str | None
    signs_from: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A key that is not retired; `sealed_private_key` is set where an older release left it under the master key."""

    id: str
    sealed_private_key: bytes | None
    certificate: str | None
    signs_from: datetime


@dataclass(frozen=True, slots=True)
class SealedPrivateKey:
    """A private key that an older release left under the master key."""

    id: str
    kind: KeyKind
    sealed_private_key: bytes


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as administrators see it, retired ones too."""

    id: str
    kind: KeyKind
    public_key: str
    certificate: str | None
    signs_from: datetime
    created_at: datetime
    retired_at: datetime | None
    sealed: bool  # under the master key, by an older release
    state: Literal["next", "active", "trusted", "retired"]


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """The public side, which needs no sealer to read."""

    kid: str
    kind: KeyKind
    ssh_line: str
    certificate: str | None
    signs_from: datetime

    @property
    def raw(self) -> bytes:
        """The 32 bytes of an Ed25519 key: the end of the OpenSSH blob."""
        return base64.b64decode(self.ssh_line.split(" ")[1])[-32:]
