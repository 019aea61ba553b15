"""Wire types of the keys of the secret store. Secrets themselves are on no wire but sealed to their recipient."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import Body, Reason

PrivateKeyCustody = Annotated[
    Literal["builtin", "openbao", "master_key", "destroyed"],
    Field(
        description="What protects the private key: a key of the secret store (builtin or openbao), or still the master key"
        " alone. destroyed: the private key no longer exists, because the key no longer signs."
    ),
]


class SecretKeyRotate(Body):
    reason: Reason


class SecretKey(BaseModel):
    """A key that wraps the data keys of secrets. The key itself is never shown."""

    id: str
    backend: str = Field(description="builtin (sealed under the master key) or openbao (its transit engine).")
    version: int
    protects: int = Field(description="Number of values that are still under the key.")
    created_at: datetime
    retired_at: datetime | None = Field(description="When the key was destroyed; every value is under a newer one.")


class SealedBox(BaseModel):
    """HPKE (RFC 9180) in base mode; see docs/reference/sealed-delivery.md."""

    format: Literal["hpke-x25519-hkdf-sha256-aes256gcm.v1"]
    info: str = Field(description="Context of the sealed box. Opening the box requires exactly this text.")
    box: str = Field(description="Encapsulated key (32 bytes) and ciphertext, base64.")
