"""These tests have people in them, and apps that they publish."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import people
from tests_support.people_fixtures import clock
from tests_support.publishing import Publishing, opened

__all__ = ["clock"]


@pytest.fixture
async def publishing(platform: Platform) -> AsyncIterator[Publishing]:
    async with people.opened(platform) as world, opened(world) as site:
        yield site
