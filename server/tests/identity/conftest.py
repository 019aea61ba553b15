"""The world of tests/identity/world.py as fixtures."""

from collections.abc import AsyncIterator

import pytest
from gpuaas_server.kernel.context import Platform

from . import world as worlds


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[worlds.World]:
    async with worlds.opened(platform) as world:
        yield world


@pytest.fixture
def clock(platform: Platform) -> worlds.MovableClock:
    platform.clock = clock = worlds.MovableClock()
    return clock
