"""One run of the housekeeping reconciler, and what is left in a table after it."""

from datetime import timedelta

from gpuaas_server.housekeeping import reconciler
from gpuaas_server.housekeeping.reconciler import HousekeepingReconciler
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.select import select


async def column(platform: Platform, query: str) -> list[object]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, query)
        return [next(iter(row.values())) for row in await cursor.fetchall()]


async def sweep(platform: Platform) -> timedelta:
    """One portion of everything; how long until the next."""
    sweeper = HousekeepingReconciler(platform)
    async with platform.transaction(PLATFORM, system_actor("worker/housekeeping")) as tx:
        return await sweeper.apply(tx, reconciler.SUBJECT, sweeper.decide(reconciler.SUBJECT, tx.now)) - tx.now
