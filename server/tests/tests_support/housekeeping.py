"""One run of the housekeeping job, and what is left in a table after it."""

from datetime import timedelta

from gpuaas_server.housekeeping.jobs import SUBJECT, HousekeepingJob
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.select import select


async def column(platform: Platform, query: str) -> list[object]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, query)
        return [next(iter(row.values())) for row in await cursor.fetchall()]


async def sweep(platform: Platform) -> timedelta:
    """One portion of everything; how long until the next."""
    async with platform.transaction(PLATFORM, system_actor("worker/housekeeping")) as tx:
        return await HousekeepingJob(platform).run(tx, SUBJECT) - tx.now
