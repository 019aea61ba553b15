"""One project that publishes, over HTTP, with a blob store of its own."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support.artifacts import Workshop, workshop


@pytest.fixture
async def shop(platform: Platform) -> AsyncIterator[Workshop]:
    async with workshop(platform) as opened:
        yield opened
