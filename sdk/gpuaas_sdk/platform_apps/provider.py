"""Provides each installed app: it is published, its controller has an account and a binding, and its process runs.

An app that cannot be provided delays no other one; it is tried again, with growing pauses.
"""

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.platform_apps.accounts import ControllerAccounts, ControllerKey
from gpuaas_sdk.platform_apps.controller_process import ControllerProcess
from gpuaas_sdk.platform_apps.declaration import AppNotReady, InstalledApp, PlatformApp
from gpuaas_sdk.platform_apps.preparation import Preparation
from gpuaas_sdk.platform_apps.publication import Publication
from gpuaas_sdk.platform_apps.status import AppStatus

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
GOOD_SECONDS = 30.0  # a controller that ran for so long is started again at once
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Provider:
    api: AsyncClient
    project_id: str
    url: str
    ca_file: str | None
    folder: Path
    preparing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def provide(self, installed: InstalledApp) -> None:
        """Provide one app until this is cancelled."""
        pause, told, status = FIRST_PAUSE, "", AppStatus(self.api, self.project_id, installed.name)
        while True:
            began = time.monotonic()
            try:
                code = await self._provide_once(installed, status)
            except (AppNotReady, GpuaasError, OSError) as error:
                step = error.next_step if isinstance(error, GpuaasError) else ""
                said = f"{error} {step}".strip()
                if said != told:
                    log.warning("%s is not provided: %s The platform tries again.", installed.name, said)
                told = said
                await status.report("unavailable", said)
            else:
                if code is None:
                    return  # it has no process: there is nothing more to do
                log.warning("Controller of %s ended with %d and is started again", installed.name, code)
                told = ""
            pause = FIRST_PAUSE if time.monotonic() - began > GOOD_SECONDS else pause
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _provide_once(self, installed: InstalledApp, status: AppStatus) -> int | None:
        """Publish the app and run its controller once. None: it has none."""
        app = await asyncio.to_thread(installed.declare)
        if app.is_example and not installed.named:
            log.info("%s is an example, and is provided only where GPUAAS_PLATFORM_APPS names it", installed.name)
            return None
        if app.prepare:
            app = await self._prepared(installed, app, status)
        if app.manifest:
            status.display_name = app.display_name
            publication = Publication(self.api, self.project_id, app, installed.package, self.ca_file)
            version = await publication.ensure()
            log.info("%s: %s %s is %s", installed.name, version.slug, version.version, version.status)
        if not app.controller:
            await status.report("provided")
            return None
        key = await self._bound_account(installed.name, app)
        environment = self._environment(key, app)
        await status.report("provided")
        return await ControllerProcess(installed.name, app.controller, environment).run()

    async def _prepared(self, installed: InstalledApp, app: PlatformApp, status: AppStatus) -> PlatformApp:
        """Make what is missing, one app after the other, and ask the package again."""
        status.display_name = app.display_name
        if app.artifact_kind == "oci":  # fail now, not after an hour of building, if there is no registry
            await self.api.artifacts.registry_token()
        await status.report("preparing", "The app waits for the preparation of another app.")
        async with self.preparing:
            await Preparation(installed.name, app.prepare).run(lambda line: status.report("preparing", line))
        prepared = await asyncio.to_thread(installed.declare)
        if prepared.prepare:
            raise AppNotReady("The app's preparation has ended, and something is still missing.")
        return prepared

    async def _bound_account(self, name: str, app: PlatformApp) -> ControllerKey:
        accounts = ControllerAccounts(self.api, self.project_id, self.folder)
        key = await accounts.ensure(name, app.slug or name)
        if app.manifest:
            await accounts.ensure_binding(key.account_id, app.slug)
        if app.serves_kind:
            await accounts.ensure_kind_binding(key.account_id, app.serves_kind)
        return key

    def _environment(self, key: ControllerKey, app: PlatformApp) -> Mapping[str, str]:
        """Return the controller's environment: this process's own without its account, and the controller's account."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("GPUAAS_APPS")}
        made = own | dict(app.environment)
        made |= {
            "GPUAAS_URL": self.url,
            "GPUAAS_PROJECT": self.project_id,
            "GPUAAS_CLIENT_ID": key.account_id,
            "GPUAAS_CLIENT_SECRET_FILE": str(key.secret_file),
        }
        return made | ({} if self.ca_file is None else {"GPUAAS_CA_FILE": self.ca_file})
