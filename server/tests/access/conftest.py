"""The site of tests_support/agents.py as a fixture."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import agents


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[agents.Site]:
    async with agents.opened(platform) as site:
        yield site


@pytest.fixture
def clock(platform: Platform) -> agents.MovableClock:
    platform.clock = clock = agents.MovableClock()
    return clock
