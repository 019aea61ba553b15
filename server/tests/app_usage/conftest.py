"""The world of apps, for tests of what they count."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import apps
from tests_support.apps import AppSite


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened
