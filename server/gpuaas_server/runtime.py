"""Open and close what a process needs: settings to a running `Platform`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Database
from gpuaas_server.kernel.sealing import Sealer, load_or_make_master_key
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.wakeups import Wakeups


def database_url(settings: Settings) -> str:
    if settings.database_url is None:
        raise RuntimeError("GPUAAS_DATABASE_URL is not set; `gpuaas-server up` starts an embedded PostgreSQL")
    return settings.database_url.get_secret_value()


@asynccontextmanager
async def running_platform(settings: Settings) -> AsyncIterator[Platform]:
    url = database_url(settings)
    key_file = settings.master_key_file or settings.data_dir / "keys" / "master.key"
    platform = Platform(
        settings=settings,
        database=Database(url, settings.pool_size),
        wakeups=Wakeups(url),
        sealer=Sealer(load_or_make_master_key(key_file)),
    )
    await platform.database.open()
    await platform.wakeups.open()
    try:
        yield platform
    finally:
        await platform.wakeups.close()
        await platform.database.close()
