"""Fixtures for every package's tests: one real server a test run (per process), and a fresh sandbox in it."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gpuaas_sdk.testing import Sandbox
from gpuaas_sdk.testing.prepared_data import FOLDER_VARIABLE
from system_support.file_order import sort_longest_first
from system_support.server import RunningServer

OF_THE_TESTS = ("GPUAAS_TEST_", "GPUAAS_WRITE_GOLDEN")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
TERMINAL = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "COLUMNS", "LINES")
HOOK = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX")

# How fast an example runs says something about the machine, and nothing about what is tested.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing of who runs the tests reaches the programs under test: no setting of the platform, no proxy on the way to
    this machine itself, no taste in colours, no commit that is being made, no configuration of the `gpuaas` command."""
    for name in list(os.environ):
        is_setting = name.startswith("GPUAAS_") and not name.startswith(OF_THE_TESTS)
        if is_setting or name.upper() in (*PROXIES, *TERMINAL, *HOOK):
            del os.environ[name]
    # Whoever runs the tests in the background has SIGINT ignored; children would inherit that, and hear no Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["XDG_CONFIG_HOME"] = _folder_of_run(config, "gpuaas-config-")
    if config.getoption("numprocesses", None):  # the processes have it from here, and share what the first server makes
        os.environ[FOLDER_VARIABLE] = _folder_of_run(config, "gpuaas-prepared-")


def _folder_of_run(config: pytest.Config, prefix: str) -> str:
    folder = tempfile.mkdtemp(prefix=prefix)
    os.chmod(folder, 0o755)  # noqa: S103 - the database's own account must be able to enter
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    sort_longest_first(items, Path(__file__).parent)


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    with RunningServer.start(login_rate_per_minute="100000") as running:
        yield running


@pytest.fixture
def sandbox(server: RunningServer) -> Sandbox:
    made = Sandbox.create(server)
    made.offer()
    return made


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests on real hosts need root; where CI runs them, a missing part is a failure and not a pass."""
    if item.get_closest_marker("lab") and os.geteuid() != 0:
        if os.environ.get("CI"):
            pytest.fail("this test needs root and real lab hosts, and CI must run it")
        pytest.skip("needs root")
