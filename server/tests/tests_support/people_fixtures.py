"""Fixtures of the little world in people.py; a conftest that imports them has them."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import people


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[people.World]:
    async with people.opened(platform) as world:
        yield world


@pytest.fixture
def clock(platform: Platform) -> people.MovableClock:
    platform.clock = clock = people.MovableClock()
    return clock
