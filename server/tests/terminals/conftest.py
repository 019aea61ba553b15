"""The ground of tests_support/grounds.py as a fixture."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support.agents import MovableClock
from tests_support.grounds import EchoLab, settled


@pytest.fixture
def clock(platform: Platform) -> MovableClock:
    platform.clock = clock = MovableClock()
    return clock


@pytest.fixture
async def ground(platform: Platform, clock: MovableClock) -> AsyncIterator[EchoLab]:
    async with settled(platform) as ground:
        yield ground
