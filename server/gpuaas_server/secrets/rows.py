"""Rows of secrets, of the platform's private keys, and of the keys that wrap both."""

from datetime import datetime
from typing import Literal

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import computed

Backend = Literal["builtin", "openbao"]


@dataclass(frozen=True, slots=True)
class SealedWrappingKey:
    """A wrapping key as it is stored. `sealed_key` is None when the key lives in the external store, or was destroyed."""

    id: str
    backend: Backend
    version: int
    sealed_key: bytes | None


@dataclass(frozen=True, slots=True)
class WrappingKeyRow(SealedWrappingKey):
    """A stored wrapping key, and when it was retired."""

    retired_at: datetime | None


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A wrapping key as administrators see it, with the number of values that it still protects."""

    id: str
    backend: Backend
    version: int
    created_at: datetime
    retired_at: datetime | None
    protects: int = computed(
        "(SELECT count(*) FROM secrets s WHERE s.key_id = k.id AND s.destroyed_at IS NULL)"
        " + (SELECT count(*) FROM platform_private_keys p WHERE p.key_id = k.id)"
    )


@dataclass(frozen=True, slots=True)
class NewSecretVersion:
    """A version of a secret to insert."""

    id: str
    version: int
    tenant_id: str
    project_id: str
    purpose: str
    key_id: str
    wrapped_key: bytes
    sealed_value: bytes | None
    kept_in: str
    store_name: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SecretVersion:
    """A version of a secret. Without `wrapped_key` it was destroyed; without `sealed_value`, the external store has it."""

    key_id: str
    wrapped_key: bytes | None
    sealed_value: bytes | None
    kept_in: Backend
    store_name: str | None
    destroyed_at: datetime | None


@dataclass(frozen=True, slots=True)
class VersionToErase:
    """A destroyed version whose value the external store still has."""

    version: int
    store_name: str | None


@dataclass(frozen=True, slots=True)
class DestroyedVersion:
    """A version of a secret that was destroyed, and the backend that has its value."""

    id: str
    kept_in: Backend


@dataclass(frozen=True, slots=True)
class WrappedVersion:
    """The data key of a secret's version, and which key wraps it."""

    id: str
    version: int
    key_id: str
    wrapped_key: bytes


@dataclass(frozen=True, slots=True)
class NewPrivateKey:
    """A sealed private key of the platform to insert."""

    id: str
    key_id: str
    wrapped_key: bytes
    sealed_value: bytes
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SealedPrivateKey(SealedWrappingKey):
    """A private key of the platform, with the key that wraps its data key: both as they are at the same moment."""

    wrapped_key: bytes
    sealed_value: bytes


@dataclass(frozen=True, slots=True)
class PrivateKeyCustody:
    """The key and the backend that protect a private key."""

    id: str
    backend: Backend
    key_id: str
