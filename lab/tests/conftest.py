"""One small fleet for all tests that only look or clean up after themselves."""

import os
from collections.abc import Iterator

import pytest

from gpuaas_lab import Fleet


@pytest.fixture(scope="session")
def fleet() -> Iterator[Fleet]:
    if lacking := Fleet.requirements():
        pytest.fail(" ".join(lacking))
    with Fleet(name=f"test-{os.getpid()}", hosts=2) as running:
        yield running
