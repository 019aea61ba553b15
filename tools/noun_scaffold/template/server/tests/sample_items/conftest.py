"""The application over HTTP with a project in it."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import agents, projects
from tests_support.agents import Site
from tests_support.projects import Project


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as site:
        yield site


@pytest.fixture
async def project(site: Site) -> Project:
    return await projects.empty(site)
