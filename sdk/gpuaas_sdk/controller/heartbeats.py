"""Tells the platform that this replica is there, so that its app can be launched, and that it goes."""

import asyncio
import logging
from dataclasses import dataclass

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.errors import GpuaasError

RETRY_SECONDS = 5.0
log = logging.getLogger(__name__)


@dataclass
class Heartbeats:
    app: AppController
    client: ControllerClient

    async def run(self) -> None:
        """Send a heartbeat as often as the platform asks for, until this task is cancelled."""
        while True:
            await asyncio.sleep(await self._send())

    async def end(self) -> None:
        """Say that this replica ends, so that nobody counts on it until its silence is noticed."""
        try:
            await self.client.send_heartbeat(self.app.slug, self.app.version, stopping=True)
        except GpuaasError as error:
            log.warning("The end of this replica was not reported: %s", error)

    async def _send(self) -> float:
        """Returns the seconds until the next one."""
        try:
            return (await self.client.send_heartbeat(self.app.slug, self.app.version)).next_in_seconds
        except GpuaasError as error:
            log.warning("The heartbeat was not accepted: %s", error)
            return RETRY_SECONDS
