"""Tells the platform that this replica is there, so that its apps can be launched, and that it goes."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.served_apps import find_served_apps, serves_all_apps
from gpuaas_sdk.errors import GpuaasError

RETRY_SECONDS = 5.0
NEW_APPS_SECONDS = 5.0  # how often a controller of all bound apps asks which they are
log = logging.getLogger(__name__)


@dataclass
class Heartbeats:
    """The heartbeats of one replica, one for each app that it serves."""

    app: AppController
    client: ControllerClient
    _due: dict[str, float] = field(default_factory=dict)  # when the next heartbeat of an app is to be sent

    async def run(self) -> None:
        """Send heartbeats as often as the platform asks for, until this task is cancelled."""
        while True:
            await asyncio.sleep(await self._send_due())

    async def end(self) -> None:
        """Say that this replica ends, so that nobody counts on it until its silence is noticed."""
        for slug in self._due or ([] if serves_all_apps(self.app) else [self.app.slug]):
            try:
                await self.client.send_heartbeat(slug, self.app.version, stopping=True)
            except GpuaasError as error:
                log.warning("The end of this replica was not reported for %s: %s", slug, error)

    async def _send_due(self) -> float:
        """Send what is due. Returns the seconds until the next look."""
        slugs = await self._find_apps()
        self._due = {slug: self._due.get(slug, 0.0) for slug in slugs}
        for slug, due in self._due.items():
            if due <= time.monotonic():
                self._due[slug] = time.monotonic() + await self._send(slug)
        pauses = [due - time.monotonic() for due in self._due.values()]
        pauses += [NEW_APPS_SECONDS] if serves_all_apps(self.app) else []
        return max(0.05, min(pauses, default=RETRY_SECONDS))

    async def _find_apps(self) -> Sequence[str]:
        try:
            found = await find_served_apps(self.app, self.client)
        except GpuaasError as error:
            log.warning("The apps of this controller cannot be read: %s", error)
            return list(self._due)
        for slug in sorted(set(found) ^ set(self._due)) if serves_all_apps(self.app) else ():
            log.info("%s is %s", slug, "served from now on" if slug in found else "no longer served")
        return found

    async def _send(self, slug: str) -> float:
        """Returns the seconds until the next one."""
        try:
            return (await self.client.send_heartbeat(slug, self.app.version)).next_in_seconds
        except GpuaasError as error:
            log.warning("The heartbeat of %s was not accepted: %s", slug, error)
            return RETRY_SECONDS
