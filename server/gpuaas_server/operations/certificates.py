"""What an operation was given ends with it: the way in, and secrets for pulling. The one place here that knows those rooms."""

from importlib.util import find_spec

from gpuaas_server.kernel.context import Tx


async def end(tx: Tx, operation_id: str) -> None:
    from gpuaas_server.artifacts import pulling

    await pulling.secrets_end(tx, operation_id)
    if find_spec("gpuaas_server.access.operation_access") is None:
        return  # no certificates for operations are issued yet, so there are none to end
    from gpuaas_server.access import operation_access

    await operation_access.certificates_end(tx, operation_id)
