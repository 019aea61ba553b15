"""Wire types of the keys of the secret store. Secrets themselves are on no wire but sealed to their recipient."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import Body, Reason

PrivateKeyCustody = Annotated[
    Literal["builtin", "openbao", "master_key", "destroyed"],
    Field(
        description="What the private side is under: a key of the secret store (builtin, or openbao, where it needs that"
        " store to open), or still the master key alone. destroyed: it is gone, since the key signs no more."
    ),
]


class SecretKeyRotate(Body):
    reason: Reason


class SecretKey(BaseModel):
    """A key that wraps the data keys of secrets. It is never shown, only counted."""

    id: str
    backend: str = Field(description="builtin (sealed under the master key) or openbao (its transit engine).")
    version: int
    protects: int = Field(description="How many values are still under it.")
    created_at: datetime
    retired_at: datetime | None = Field(description="Since when it is destroyed: everything is under a newer one.")
