"""An operation as it is now or, for who follows it, as soon as it has changed."""

from psycopg.rows import DictRow

from gpuaas_server.identity import service as identity
from gpuaas_server.instances import held as instances
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.wakeups import Look
from gpuaas_server.operations import queries
from gpuaas_server.operations.context import operation_of
from gpuaas_server.operations.schemas import Operation


async def operation_follow(
    platform: Platform,
    scope: Scope,
    caller: Caller,
    project_id: str,
    operation_id: str,
    newer_than: int,
    wait: float,
) -> Operation:
    """Once its generation is newer; one that has ended is not waited for.

    Whatever changes an operation wakes those who watch its instance, so that is what is listened to.
    """

    seen_apps = identity.apps_in_sight(caller)

    async def look() -> Look[DictRow]:
        async with platform.database.connection(scope) as connection:
            row = await queries.operation_show(connection, project_id, operation_id, seen_apps)
        if row is None:
            raise not_found("operation", operation_id)
        return Look(row, row["finished_at"] is not None or row["generation"] > newer_than)

    seen = await look()
    row = seen.found
    if not seen.enough and wait > 0:
        row = await platform.wakeups.first(instances.topic(row["instance_id"]), look, wait)
    return operation_of(row, caller)
