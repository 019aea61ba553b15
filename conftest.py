"""Fixtures for every package's tests: one real server a test run (per process), and a fresh world in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

from system_support.server import RunningServer
from system_support.world import World

OF_THE_TESTS = ("GPUAAS_TEST_", "GPUAAS_WRITE_GOLDEN")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing that a developer has set for the own work reaches the programs under test: no setting of the platform, no
    proxy on the way to this machine itself, no configuration of the `gpuaas` command."""
    for name in list(os.environ):
        if (name.startswith("GPUAAS_") and not name.startswith(OF_THE_TESTS)) or name.lower() in PROXIES:
            del os.environ[name]
    home = tempfile.mkdtemp(prefix="gpuaas-config-")
    os.environ["XDG_CONFIG_HOME"] = home
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


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
