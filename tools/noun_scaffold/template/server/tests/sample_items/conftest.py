"""The application over HTTP with a project in it."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import agents
from tests_support.agents import Site


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as site:
        yield site


@pytest.fixture
async def project(site: Site) -> str:
    """The path of a new project in a new tenant."""
    tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
    made = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
    return f"/projects/{made['id']}"
