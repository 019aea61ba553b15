"""The world of apps: the whole application, a host, a tenant whose project has allocations and an app."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import apps
from tests_support.apps import AppSite


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened
