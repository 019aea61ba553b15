"""Fixtures for every package's tests: one real server a test run (per process), and a fresh world in it."""

import os
from collections.abc import Iterator

import pytest

from system_support.server import RunningServer
from system_support.world import World


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    with RunningServer.start(login_rate_per_minute="100000") as running:
        yield running


@pytest.fixture
def world(server: RunningServer) -> World:
    made = World.create(server)
    made.offer()
    return made


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests on real hosts need root; where CI runs them, a missing part is a failure and not a pass."""
    if item.get_closest_marker("lab") and os.geteuid() != 0:
        if os.environ.get("CI"):
            pytest.fail("this test needs root and real lab hosts, and CI must run it")
        pytest.skip("needs root")
