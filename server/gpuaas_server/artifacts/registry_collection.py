"""Takes care of the registry process's own bytes: measures them, and finds and removes garbage."""

import asyncio
from pathlib import Path

from gpuaas_server.artifacts import registry_queries as queries
from gpuaas_server.artifacts.registry_storage import Garbage, KeptImages, RegistryStorage
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings


def registry_data(settings: Settings) -> Path:
    return (settings.data_dir / "registry" / "data").absolute()


async def measure(platform: Platform, storage: RegistryStorage) -> None:
    """Store how many bytes each project has in the registry, for the decision about further pushes."""
    sizes = await asyncio.to_thread(storage.bytes_by_project)
    async with platform.database.connection(PLATFORM) as connection, connection.transaction():
        await queries.usage_store(connection, sizes, platform.clock())


async def find_garbage(platform: Platform, storage: RegistryStorage) -> Garbage:
    """Find what nothing refers to and what is older than the grace period, and change nothing.

    What comes between the look at the database and the one at the files is younger than the grace period.
    """
    cutoff = platform.clock().timestamp() - platform.settings.registry_grace_hours * 3600
    async with platform.database.connection(PLATFORM) as connection:
        images = await queries.kept_images(connection)
        repositories = frozenset(await queries.open_repositories(connection))
    digests: dict[str, frozenset[str]] = {}
    for row in images:
        digests[row.repository] = digests.get(row.repository, frozenset()) | {row.digest}
    return await asyncio.to_thread(storage.find_garbage, KeptImages(digests, repositories), cutoff)
