"""Reports to the platform that this replica is alive, so that its apps can be launched, and when it ends."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.served_apps import ServedApps
from gpuaas_sdk.errors import GpuaasError

RETRY_SECONDS = 5.0
log = logging.getLogger(__name__)


@dataclass
class Heartbeats:
    """The heartbeats of one replica, one for each app that it serves."""

    app: AppController
    client: ControllerClient
    apps: ServedApps
    _due: dict[str, float] = field(default_factory=dict)  # when the next heartbeat of an app is to be sent

    async def run(self) -> None:
        """Send heartbeats as often as the platform asks for, and when the apps change, until this task is cancelled."""
        while True:
            self.apps.changed.clear()
            pause = await self._send_due()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self.apps.changed.wait()

    async def end(self) -> None:
        """Report that this replica ends, so that the platform does not wait for it until its silence is noticed."""
        for slug in self._due or self.apps.slugs:
            try:
                await self.client.send_heartbeat(slug, self.app.version, stopping=True)
            except GpuaasError as error:
                log.warning("The end of this replica was not reported for %s: %s", slug, error)

    async def _send_due(self) -> float | None:
        """Send what is due. Returns the seconds until the next is; None when there is none."""
        self._due = {slug: self._due.get(slug, 0.0) for slug in self.apps.slugs}
        refused = False
        for slug, due in self._due.items():
            if due <= time.monotonic():
                pause = await self._send(slug)
                refused |= pause is None
                self._due[slug] = time.monotonic() + (pause or RETRY_SECONDS)
        if refused:  # the app may have been taken away
            await self.apps.refresh()
        return max(0.05, min(self._due.values()) - time.monotonic()) if self._due else None

    async def _send(self, slug: str) -> float | None:
        """Returns the seconds until the next one; None when it was not accepted."""
        try:
            return (await self.client.send_heartbeat(slug, self.app.version)).next_in_seconds
        except GpuaasError as error:
            log.warning("The heartbeat of %s was not accepted: %s", slug, error)
            return None
