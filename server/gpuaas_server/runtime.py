"""Open and close what a process needs: settings to a running `Platform`."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import NOBODY, Database
from gpuaas_server.kernel.database_health import DatabaseHealth
from gpuaas_server.kernel.rows import fetch_value
from gpuaas_server.kernel.sealer import Sealer, load_or_make_master_key
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.kernel.wakeups import Wakeups
from gpuaas_server.migrations.run import head, is_known, refuse_development_revision

log = logging.getLogger(__name__)


def database_url(settings: Settings) -> str:
    if settings.database_url is None:
        raise StartFailed("GPUAAS_DATABASE_URL is not set; `gpuaas-server up` starts an embedded PostgreSQL")
    return settings.database_url.get_secret_value()


@asynccontextmanager
async def running_platform(
    settings: Settings, starting: Callable[[DatabaseHealth], None] | None = None
) -> AsyncIterator[Platform]:
    """Wait for the database, however long; `starting` is given its health, to tell others what is waited for."""
    url = database_url(settings)
    key_file = settings.master_key_file or settings.data_dir / "keys" / "master.key"
    database = Database(url, settings.pool_size)
    if starting is not None:
        starting(database.health)
    platform = Platform(
        settings=settings,
        database=database,
        wakeups=Wakeups(url, database.health),
        sealer=Sealer(load_or_make_master_key(key_file)),
    )
    try:  # includes the opening: a half-opened pool would keep the process from ending
        await platform.database.open()
        await database.health.until_available(partial(_refuse_old_schema, platform))
        await platform.wakeups.open()
        yield platform
    finally:
        await platform.wakeups.close()
        await platform.database.close()


async def _refuse_old_schema(platform: Platform) -> None:
    """Refuse an older schema, which lacks what this version needs. A newer one is of an upgrade, and must fit both."""
    async with platform.database.connection(NOBODY) as connection:
        migrated = await fetch_value(connection, bool, "SELECT to_regclass('alembic_version') IS NOT NULL")
        found = await fetch_value(connection, str, "SELECT version_num FROM alembic_version") if migrated else None
    needed = head()
    if found == needed:
        return
    refuse_development_revision(found)
    if found is None or is_known(found):
        raise StartFailed(
            f"the database's schema is at revision {found or 'none'}, this version needs {needed}; run `gpuaas-server migrate`"
        )
    log.warning("the database's schema is newer than this version", extra={"found": found, "known": needed})
