"""The topology of an allocation: which GPUs of its host are its own, and how the host links them."""

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.schemas import Topology
from gpuaas_server.capacity import service as capacity
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found


async def allocation_topology(connection: Connection, project_id: str, allocation_id: str) -> Topology:
    row = await queries.allocation_show(connection, project_id, allocation_id)
    if row is None:
        raise not_found("allocation", allocation_id)
    gpus = await capacity.gpus_beside(connection, allocation_id, row.node_id)
    return Topology(allocation_id=allocation_id, node_id=row.node_id, gpus=gpus)
