"""An operation with its instance, both locked: the instance first, then the operation, always in this order."""

from collections.abc import Container

from psycopg.rows import DictRow

from gpuaas_server.instances import held as instances
from gpuaas_server.instances.held import Held
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.operations import queries


async def hold(
    tx: Tx, project_id: str, operation_id: str, bound_apps: Container[str] | None = None
) -> tuple[Held, DictRow]:
    """For people; or, with the apps that it is bound to, for a controller, which holds nothing of other apps."""
    found = await queries.operation_show(tx.connection, project_id, operation_id)
    if found is None:
        raise not_found("operation", operation_id)
    if bound_apps is not None and found["app_slug"] not in bound_apps:
        raise Problem("not_the_controller", f"It is not bound to {found['app_slug']}.", {"app": found["app_slug"]})
    held = await instances.hold(tx, project_id, found["instance_id"])
    operation = await queries.operation_lock(tx.connection, operation_id)
    if operation is None:
        raise not_found("operation", operation_id)
    return held, operation
