"""These tests have people in them: see tests_support/people.py."""

from collections.abc import AsyncIterator

import pytest

from tests_support.browsers import Browser, another
from tests_support.people import Person, World
from tests_support.people_fixtures import clock, world

__all__ = ["clock", "world"]


@pytest.fixture
def only_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of a caller does not run out: what changes meanwhile can only have been heard of."""
    monkeypatch.setattr("gpuaas_server.admission.directory.REMEMBERED_SECONDS", 3600.0)


@pytest.fixture
async def ann(world: World) -> Person:
    return await world.person("ann@acme.test", await world.tenant("acme"))


@pytest.fixture
async def browser(world: World, ann: Person) -> AsyncIterator[Browser]:
    async with another(world) as browser:
        yield browser
