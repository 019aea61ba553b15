"""What this room tells, and asks of, the room of app instances: imported where it is used, since that imports this room."""

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


async def wants_release(tx: Tx, allocation_id: str) -> bool:
    """What runs on the allocation is asked to go. Whether there is something to wait for."""
    from gpuaas_server.instances import service as instances

    return await instances.allocation_wants_release(tx, allocation_id)


async def guests(connection: Connection, allocation_id: str) -> bool:
    """Whether something still has to leave."""
    from gpuaas_server.instances import service as instances

    return await instances.allocation_guests(connection, allocation_id)


async def host_goes(tx: Tx, allocation_id: str, reason: str) -> None:
    """From now on there is no host: whatever was on it is lost."""
    from gpuaas_server.instances import service as instances

    await instances.allocation_ended(tx, allocation_id, reason)
