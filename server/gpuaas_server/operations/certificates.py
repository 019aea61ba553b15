"""The way in that an operation had ends with it. The one place here that knows the access room."""

from gpuaas_server.access import operation_access
from gpuaas_server.kernel.context import Tx


async def end(tx: Tx, operation_id: str) -> None:
    await operation_access.certificates_end(tx, operation_id)
