"""What an operation gave to its controller ends with it: the way in, and secrets for pulling. It alone knows those rooms."""

from gpuaas_server.access import operation_access
from gpuaas_server.artifacts import runtime_secrets
from gpuaas_server.kernel.context import Tx


async def end(tx: Tx, operation_id: str) -> None:
    await operation_access.certificates_end(tx, operation_id)
    await runtime_secrets.secrets_end(tx, operation_id)
