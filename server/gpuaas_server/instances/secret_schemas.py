"""Wire types of an instance's secrets. Values come in and leave sealed; no response has one in clear."""

import base64
import binascii
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Reason
from gpuaas_server.operations.schemas import Operation
from gpuaas_server.secrets.schemas import SealedBox

MOST_BYTES = 16_384
SecretName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,39}$")]


class SecretValue(Body):
    value: Annotated[str, StringConstraints(min_length=1, max_length=2 * MOST_BYTES)] = Field(
        description="The value, at most 16 KiB. It is never shown again.",
        repr=False,
        json_schema_extra={"writeOnly": True},
    )
    encoding: Literal["text", "base64"] = Field(default="text", description="How `value` is written.")

    def content(self, name: str) -> bytes:
        """Return the bytes of the value. A problem names the secret, never its value."""
        try:
            found = self.value.encode() if self.encoding == "text" else base64.b64decode(self.value, validate=True)
        except (binascii.Error, ValueError):
            raise Problem("secret_invalid", f"secrets.{name}: the value is not base64.") from None
        if not 0 < len(found) <= MOST_BYTES:
            raise Problem(
                "secret_invalid", f"secrets.{name}: the value has {len(found)} bytes; 1 to {MOST_BYTES} are allowed."
            )
        return found


class InstanceSecretRotate(Body):
    reason: Reason | None = None


class InstanceSecret(BaseModel):
    name: str
    display_name: str
    description: str
    source: Literal["generated", "given"] = Field(
        description="`generated`: the platform makes the value. `given`: a person gives it."
    )
    required: bool = Field(description="Whether the app needs a value; a generated one always has one when it is read.")
    shared: bool = Field(description="Whether members know it.")
    version: int | None = Field(description="Grows with every new value; null: there is no value yet.")
    set_at: datetime | None = Field(description="When the present value was made or given.")
    set_by: str | None = Field(description="Who gave the present value, or the controller for which it was made.")
    read_at: datetime | None = Field(description="When a controller last read it, in an operation.")
    rotation_due: bool = Field(
        description="A change waits for members to get it: until the operation in progress ended."
    )
    exposed: bool = Field(description="Somebody who has left knows this given value: set another one.")
    allowed_actions: AllowedActions


class InstanceSecrets(BaseModel):
    instance_id: str
    items: list[InstanceSecret] = Field(description="The secrets that the version's manifest declares, in its order.")


class InstanceSecretChanged(BaseModel):
    """The secret, and the operation that brings it to the members: null while the instance does not run or is busy."""

    secret: InstanceSecret
    operation: Operation | None


class OperationSecretsRead(Body):
    lease_token: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern="^[!-~]+$")] = Field(
        description="The lease token of the claim."
    )
    recipient_key: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{43}=$")] = Field(
        description="Your X25519 public key, 32 bytes as base64. The values are sealed to it."
    )


class OperationSecret(BaseModel):
    name: str
    version: int
    sealed: SealedBox = Field(description="The value, sealed to you.")
    previous_sealed: SealedBox | None = Field(
        description="The value before, sealed to you, until a rotation has succeeded; null: there is none."
    )
    rotated: bool = Field(description="Whether this operation has to bring it to members that have the value before.")


class OperationSecrets(BaseModel):
    operation_id: str
    items: list[OperationSecret] = Field(description="The secrets that have a value.")
