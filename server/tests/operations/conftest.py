"""The world of apps, for tests of operations."""

import math
from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.wakeups import PollResult
from tests_support import apps
from tests_support.apps import AppSite


@pytest.fixture
def only_wakeups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits does not look again by the clock: what is seen, somebody has woken them for."""
    monkeypatch.setattr(PollResult.__init__, "__defaults__", (math.inf,))  # of `again`


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened
