"""Finds which apps a controller serves: the one that it names, or all that its service account is bound to at the moment."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.errors import GpuaasError

ALL_APPS = ""  # the slug of a controller that serves every app that its service account is bound to
log = logging.getLogger(__name__)


def serves_all_apps(app: AppController) -> bool:
    return app.slug == ALL_APPS


def title_of(app: AppController) -> str:
    """Return what a log calls the apps of the controller."""
    return app.slug or "all bound apps"


@dataclass
class ServedApps:
    """The slugs of the apps of one replica. Code that learns that they may have changed calls `refresh`."""

    app: AppController
    client: ControllerClient
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    slugs: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.slugs = () if serves_all_apps(self.app) else (self.app.slug,)

    async def refresh(self) -> None:
        """Ask the platform which apps count now. When it does not answer, the last answer stays."""
        if not serves_all_apps(self.app):
            return
        try:
            found = tuple(await self.client.list_bound_apps())
        except GpuaasError as error:
            log.warning("The apps of this controller cannot be read: %s", error)
            return
        for slug in sorted(set(found) ^ set(self.slugs)):
            log.info("%s is %s", slug, "served from now on" if slug in found else "no longer served")
            self.changed.set()
        self.slugs = found
