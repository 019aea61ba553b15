"""What a controller sends to get machine access."""

from gpuaas_server.access.schemas import PublicKeyLine
from gpuaas_server.kernel.http.schemas import Body
from gpuaas_server.operations.schemas import LeaseToken


class MachineAccessCreate(Body):
    lease_token: LeaseToken
    public_key: PublicKeyLine
