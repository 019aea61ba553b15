"""What a controller sends to get machine access."""

from pydantic import Field

from gpuaas_server.access.schemas import PublicKeyLine
from gpuaas_server.kernel.http.schemas import Body
from gpuaas_server.operations.schemas import LeaseToken


class MachineAccessCreate(Body):
    lease_token: LeaseToken = Field(description="Of the claim.")
    public_key: PublicKeyLine = Field(
        description="Of a key pair that you made for this; the private side stays with you."
    )
