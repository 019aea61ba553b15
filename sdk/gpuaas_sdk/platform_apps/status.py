"""Reports the state of an app to the platform, so that its catalogue can show it. An unchanged state is not reported again."""

import logging
from dataclasses import dataclass, field
from typing import Literal

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.errors import GpuaasError

State = Literal["preparing", "provided", "unavailable"]
_MOST_CHARACTERS = 1000
log = logging.getLogger(__name__)


@dataclass(slots=True)
class AppStatus:
    """Reports the state of one app. `name` is that of the package's entry point, `display_name` how people know the app."""

    api: AsyncClient
    project_id: str
    name: str
    display_name: str = ""
    _told: tuple[str, str, str] = field(default=("", "", ""))

    async def report(self, state: State, detail: str = "") -> None:
        """Report the state. `detail` is for operators. Nothing depends on the report, so it may fail."""
        shown = self.display_name or self.name
        said = (shown, state, "".join(one for one in detail if one.isprintable())[-_MOST_CHARACTERS:].strip())
        if said == self._told:
            return
        try:
            await self.api.provided_apps.report(self.project_id, self.name, shown, state, detail=said[2] or None)
        except GpuaasError as error:
            log.warning("The state of %s was not reported: %s", self.name, error)
        else:
            self._told = said
